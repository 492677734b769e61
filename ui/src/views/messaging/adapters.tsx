import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { inCity, post, request } from '../../api/client.js';
import { useForbidden } from '../../api/info.js';
import * as needs from '../../api/needs.gen.js';
import type { Schemas } from '../../api/types.js';
import { useKeys } from '../../lib/keys.js';
import { visible } from '../../lib/text.js';
import { Button, Empty, Modal, State, type Tone } from '../../parts/basics.js';
import { Told, useAct } from '../admin/act.js';
import { Copy, FormDialog, Sure } from '../admin/forms.js';
import { Ago, Facts, Row, Rows, Section, Shown } from '../admin/frame.js';
import { usePages } from '../admin/pages.js';

type Adapter = Schemas['ExtmsgAdapterInfo'];
type Made = Schemas['ExtMsgAdapterRegisterOutputBody'];
const EVERY_MS = 10_000;
const HEALTH: Readonly<Record<NonNullable<Adapter['health']>, Tone>> = {
  ok: 'good',
  failing: 'bad',
  stale: 'warn',
  no_callback: 'quiet',
  disconnected: 'warn',
};

/** What speaks for a provider, and how it is. */
export function Adapters({ city }: { city: string }): ReactNode {
  const { new: adding } = useSearch({ from: '/c/$city/messaging' });
  const navigate = useNavigate({ from: '/c/$city/messaging' });
  const reading = usePages<Adapter>(inCity(city, 'extmsg/adapters'), {}, { city, on: /^extmsg\./, everyMs: EVERY_MS });
  const act = useAct();
  const not = useForbidden(needs.registerExtmsgAdapter, needs.removeExtmsgAdapter);
  const [made, setMade] = useState<Made>();
  const [leaving, setLeaving] = useState<Adapter>();
  const show = (on: boolean): void => void navigate({ search: { tab: 'adapters', ...(on ? { new: '1' } : {}) }, replace: true });
  useKeys('Adapters', not === undefined ? [{ keys: 'c', label: 'register an adapter', run: () => show(true) }] : []);
  const renew = ({ provider, account_id, callback_url, transport, name }: Adapter): void =>
    void act.run(`renew ${name}`, async (key) => {
      setMade(
        await post<Made>(
          inCity(city, 'extmsg/adapters'),
          {
            provider,
            account_id,
            name,
            rotate_secret: true,
            ...(callback_url === undefined ? {} : { callback_url }),
            ...(transport === undefined ? {} : { transport }),
          },
          { idempotencyKey: key },
        ),
      );
    });
  return (
    <Section
      title="Adapters"
      actions={
        <Button look="primary" hotkey="c" not={not} onClick={() => show(true)}>
          Register an adapter
        </Button>
      }
    >
      <Told acting={act} />
      <Shown of={reading}>
        {({ items }) => (
          <>
            {items.length === 0 && (
              <Empty title="No adapter is registered">
                <p>
                  An adapter is a program that speaks for a provider: it hands over what people write, and publishes what sessions answer.
                </p>
              </Empty>
            )}
            <Rows label="Adapters">
              {items.map((adapter) => (
                <Row key={`${adapter.provider} ${adapter.account_id}`} name={adapter.name}>
                  <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
                    <div className="min-w-0 flex-1 basis-40">
                      <h3 className="words font-semibold">{visible(adapter.name)}</h3>
                      <p className="words text-xs text-muted">{visible(`${adapter.provider}/${adapter.account_id}`)}</p>
                    </div>
                    {adapter.health !== undefined && <State tone={HEALTH[adapter.health]}>{adapter.health.replaceAll('_', ' ')}</State>}
                    <div className="flex gap-1.5">
                      <Button not={not} onClick={() => renew(adapter)}>
                        New token
                      </Button>
                      <Button look="bad" not={not} onClick={() => setLeaving(adapter)}>
                        Unregister
                      </Button>
                    </div>
                  </div>
                  {adapter.last_error !== undefined && <p className="words text-sm text-bad">{visible(adapter.last_error)}</p>}
                  <Facts
                    facts={[
                      [
                        'Takes',
                        adapter.transport === 'stream' ? `a stream, ${adapter.connections ?? 0} connected` : 'calls at its address',
                      ],
                      ['Address', adapter.callback_url === undefined ? undefined : visible(adapter.callback_url)],
                      ['Seen', adapter.last_seen_at === undefined ? undefined : <Ago at={adapter.last_seen_at} />],
                      ['Registered', adapter.registered_at === undefined ? undefined : <Ago at={adapter.registered_at} />],
                      ['Lease until', adapter.lease_until === undefined ? undefined : new Date(adapter.lease_until).toLocaleTimeString()],
                    ]}
                  />
                </Row>
              ))}
            </Rows>
          </>
        )}
      </Shown>
      {adding !== undefined && (
        <FormDialog
          title="Register an adapter"
          action="Register it"
          not={not}
          start={{ transport: 'stream' }}
          inputs={[
            { name: 'provider', label: 'Provider', required: true, placeholder: 'slack' },
            { name: 'account_id', label: 'Account', placeholder: 'default' },
            { name: 'name', label: 'Name' },
            {
              name: 'transport',
              label: 'Takes what sessions publish',
              choices: [
                ['stream', 'from a stream, without an address of its own'],
                ['callback', 'as calls at an address'],
              ],
            },
            { name: 'callback_url', label: 'That address', placeholder: 'https://adapter.example.com' },
          ]}
          onClose={() => show(false)}
          onSave={async (values, key) => {
            const answer = await post<Made>(
              inCity(city, 'extmsg/adapters'),
              {
                provider: values.provider?.trim(),
                account_id: values.account_id?.trim() === '' || values.account_id === undefined ? 'default' : values.account_id.trim(),
                transport: values.transport,
                ...(values.name === undefined || values.name.trim() === '' ? {} : { name: values.name.trim() }),
                ...(values.transport === 'callback' && values.callback_url !== undefined
                  ? { callback_url: values.callback_url.trim() }
                  : {}),
              },
              { idempotencyKey: key },
            );
            setMade(answer);
            reading.again();
          }}
        />
      )}
      {made?.token !== undefined && adding === undefined && (
        <Modal title={`Token and secret of ${made.name}`} kept onClose={() => setMade(undefined)}>
          <p className="text-sm text-muted">They are shown once, here: give them to the adapter.</p>
          {[
            ['Token', made.token],
            ['Secret', made.secret],
          ].map(([label, text]) =>
            text === undefined ? null : (
              <div key={label} className="flex flex-col gap-1">
                <span className="text-sm font-medium">{label}</span>
                <code tabIndex={0} className="words rounded-md border border-line bg-ground px-2.5 py-2 font-mono text-[13px]">
                  {text}
                </code>
                <div className="flex justify-end">
                  <Copy text={text} />
                </div>
              </div>
            ),
          )}
          <Button onClick={() => setMade(undefined)}>I have them</Button>
        </Modal>
      )}
      {leaving !== undefined && (
        <Sure
          title={`Unregister ${leaving.name}?`}
          word={leaving.name}
          action="Unregister it"
          onClose={() => setLeaving(undefined)}
          onYes={() =>
            void act.run(`unregister ${leaving.name}`, async () => {
              await request('DELETE', inCity(city, 'extmsg/adapters'), {
                body: { provider: leaving.provider, account_id: leaving.account_id },
              });
              reading.again();
              return `${leaving.name} may no longer hand over or publish`;
            })
          }
        >
          Its token is good no more, and what waits to be published by it stays where it is.
        </Sure>
      )}
    </Section>
  );
}
