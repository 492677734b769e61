import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { inCity, part, post } from '../../api/client.js';
import { useForbidden } from '../../api/info.js';
import * as needs from '../../api/needs.gen.js';
import type { Schemas } from '../../api/types.js';
import { visible } from '../../lib/text.js';
import { Age, Button, Empty, State, type Tone } from '../../parts/basics.js';
import { Told, useAct } from '../admin/act.js';
import { More, Row, Rows, Section, Shown } from '../admin/frame.js';
import { usePages } from '../admin/pages.js';
import { addressOf, titleOf } from './reference.js';

type Delivery = Schemas['ExtmsgDelivery'];
const TONES: Readonly<Record<Delivery['state'], Tone>> = {
  pending: 'accent',
  queued: 'accent',
  delivered: 'good',
  failed: 'bad',
  skipped: 'quiet',
};
const WAY: Readonly<Record<Delivery['direction'], string>> = {
  inbound: 'to the session',
  outbound: 'to the chat',
  peer: 'between sessions',
};

/** What is on its way, what has not arrived, and trying that again. */
export function Deliveries({ city }: { city: string }): ReactNode {
  const { state, direction } = useSearch({ from: '/c/$city/messaging' });
  const navigate = useNavigate({ from: '/c/$city/messaging' });
  const reading = usePages<Delivery>(
    inCity(city, 'extmsg/deliveries'),
    { status: state, direction, limit: 100 },
    { city, on: /^extmsg\.|^worker\.operation$|^request\./ },
  );
  const act = useAct();
  const not = useForbidden(needs.retryExtmsgDelivery);
  const set = (name: 'state' | 'direction', value: string): void =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }), replace: true });
  return (
    <Section
      title="Deliveries"
      actions={
        <>
          <select aria-label="State" value={state ?? ''} onChange={(event) => set('state', event.target.value)} className="field w-auto">
            <option value="">Any state</option>
            {Object.keys(TONES).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <select
            aria-label="Direction"
            value={direction ?? ''}
            onChange={(event) => set('direction', event.target.value)}
            className="field w-auto"
          >
            <option value="">Any direction</option>
            {Object.entries(WAY).map(([one, label]) => (
              <option key={one} value={one}>
                {label}
              </option>
            ))}
          </select>
        </>
      }
    >
      <Told acting={act} />
      <Shown of={reading}>
        {({ items, more }) => (
          <>
            {items.length === 0 && (
              <Empty title={state === undefined && direction === undefined ? 'Nothing was delivered yet' : 'No delivery fits'} />
            )}
            <Rows label="Deliveries, the newest first">
              {items.map((delivery) => (
                <Row key={delivery.id} name={delivery.id}>
                  <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
                    <State tone={TONES[delivery.state]}>{delivery.state}</State>
                    <Link
                      data-open
                      to="/c/$city/messaging"
                      params={{ city }}
                      search={{ tab: 'conversation', ...addressOf(city, delivery.conversation) }}
                      className="words font-medium hover:underline"
                    >
                      {visible(titleOf(delivery.conversation))}
                    </Link>
                    <span className="text-muted">
                      {WAY[delivery.direction]} · {visible(delivery.session)}
                    </span>
                    <span className="ml-auto text-xs text-muted">
                      <Age at={delivery.created_at} />
                    </span>
                    {delivery.state === 'failed' && (
                      <Button
                        not={not}
                        onClick={() =>
                          void act.run(`retry ${delivery.id}`, async () => {
                            await post(inCity(city, `extmsg/delivery/${part(delivery.id)}/retry`));
                            reading.again();
                            return 'It is tried again';
                          })
                        }
                      >
                        Try again
                      </Button>
                    )}
                  </div>
                  <p className="words line-clamp-3 text-sm">{visible(delivery.text)}</p>
                  {delivery.error !== undefined && (
                    <p className="words text-sm text-bad">
                      {delivery.error_code === undefined ? '' : `${visible(delivery.error_code)}: `}
                      {visible(delivery.error)}
                    </p>
                  )}
                  {delivery.next_attempt_at !== undefined && (
                    <p className="text-xs text-muted">
                      Tried {delivery.attempts} times; next at {new Date(delivery.next_attempt_at).toLocaleTimeString()}
                    </p>
                  )}
                </Row>
              ))}
            </Rows>
            {more && <More onMore={reading.showMore} busy={false} />}
          </>
        )}
      </Shown>
    </Section>
  );
}
