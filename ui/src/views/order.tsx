import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { done } from '../live/undo.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { lasts } from '../lib/lasts.js';
import { useWishes } from '../lib/wishes.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Empty, Field, Modal, Problem, State } from '../parts/basics.js';
import { AgentLink, RunLink } from '../parts/links.js';
import { comesOf, OrderSwitch, OutcomeOf, Until } from '../parts/order-parts.js';
import { Card, CityPage, Fact, Facts, Loading } from '../parts/page.js';
import { Code } from '../parts/tool.js';

/** One order: when it comes next, what has become of it so far, and where it is written. */
export function OrderPage(): ReactNode {
  const { city, name } = useParams({ from: '/c/$city/orders/$name' });
  const navigate = useNavigate();
  const { data, error, asOf, again } = useCityRead(
    city,
    `order ${name}`,
    async (signal) => {
      const order = await get<Schemas['OrderResponse']>(inCity(city, `order/${part(name)}`), { signal });
      const history = await get<Schemas['OrderHistoryListBody']>(inCity(city, 'orders/history'), {
        query: { scoped_name: order.scoped_name, limit: 50 },
        signal,
      });
      return { order, entries: history.entries ?? [], more: history.next_cursor !== undefined };
    },
    kinds('order.', 'config.'),
  );
  const [firing, setFiring] = useState(false);
  const [open, setOpen] = useState<string>();
  const not = useForbidden(needs.runOrder);
  const order = data?.order;
  useKeys('This order', [
    ...(order === undefined || not !== undefined ? [] : [{ keys: 'f', label: 'fire it', run: () => setFiring(true) }]),
    { keys: 'u', label: 'back to the orders', run: () => void navigate({ to: '/c/$city/orders', params: { city } }) },
  ]);
  return (
    <CityPage
      city={city}
      title={visible(name)}
      count={order === undefined ? undefined : <State tone={order.enabled ? 'good' : 'quiet'}>{order.enabled ? 'on' : 'paused'}</State>}
      error={error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        order !== undefined && (
          <>
            <OrderSwitch city={city} order={order} onDone={again} />
            <Button look="primary" hotkey="f" not={not} onClick={() => setFiring(true)}>
              Fire now
            </Button>
          </>
        )
      }
    >
      {data === undefined && error === undefined && <Loading />}
      {order !== undefined && data !== undefined && (
        <>
          {order.errors !== undefined && order.errors.length > 0 && <Problem error={new Error(order.errors.join('; '))} />}
          <div className="grid items-start gap-4 @3xl:grid-cols-[1fr_18rem]">
            <div className="rounded-xl border border-line bg-panel p-4">
              <Facts>
                <Fact name="What it is for">{order.description === undefined ? undefined : visible(order.description)}</Fact>
                <Fact name="Comes">{comesOf(order)}</Fact>
                <Fact name="Does">
                  {order.type === 'formula' ? (
                    <Link to="/c/$city/formulas/$name" params={{ city, name: order.formula ?? '' }} className="text-accent underline">
                      {visible(order.formula ?? '')}
                    </Link>
                  ) : (
                    <Code>{order.exec ?? ''}</Code>
                  )}
                </Fact>
                <Fact name="For">{order.pool === undefined ? undefined : <AgentLink city={city} name={order.pool} />}</Fact>
                <Fact name="At most">{order.type === 'formula' ? undefined : order.timeout}</Fact>
                <Fact name="Failed in a row">
                  {order.consecutive_failures === undefined || order.consecutive_failures === 0 ? undefined : order.consecutive_failures}
                </Fact>
                <Fact name="Written in">
                  {order.source === undefined
                    ? undefined
                    : `${visible(order.source.file)}${order.source.pack === '' ? '' : ` of the pack ${visible(order.source.pack)}`}`}
                </Fact>
              </Facts>
            </div>
            <Card title="Next">
              {(order.next ?? []).length === 0 ? (
                <p className="p-4 text-sm text-muted">{order.enabled ? 'When it comes is not known before.' : 'It is paused.'}</p>
              ) : (
                <ol className="flex flex-col divide-y divide-line">
                  {(order.next ?? []).map((at) => (
                    <li key={at} className="flex items-baseline justify-between gap-3 px-4 py-1.5 text-sm">
                      <span className="truncate tabular-nums">{new Date(at).toLocaleString()}</span>
                      <span className="text-muted">
                        <Until at={at} />
                      </span>
                    </li>
                  ))}
                </ol>
              )}
            </Card>
          </div>
          <Card title="So far" aside={data.more ? 'the newest 50' : undefined}>
            {data.entries.length === 0 && <Empty title="It was never fired" />}
            <ol aria-label="Firings, the newest first" className="flex flex-col divide-y divide-line">
              {data.entries.map((entry) => (
                <li key={entry.bead_id} data-firing={entry.bead_id}>
                  <div className="grid grid-cols-[6rem_1fr_auto] items-center gap-x-4 px-4 py-1.5 text-sm @2xl:grid-cols-[6rem_6rem_6rem_1fr_auto_3rem]">
                    <OutcomeOf outcome={entry.outcome} />
                    <span className="hidden text-muted @2xl:block">{visible(entry.cause ?? '')}</span>
                    <span className="hidden tabular-nums text-muted @2xl:block">
                      {entry.duration_ms === undefined ? '' : lasts(Number(entry.duration_ms))}
                    </span>
                    <span className="min-w-0 truncate">
                      {visible(entry.error ?? entry.reason ?? entry.output?.split('\n', 1)[0] ?? '')}
                      {entry.actor !== undefined && <span className="text-muted"> · {visible(entry.actor)}</span>}
                    </span>
                    <span className="flex items-center gap-2">
                      {entry.wisp_root_id !== undefined && entry.wisp_root_id !== '' && <RunLink city={city} id={entry.wisp_root_id} />}
                      {(entry.has_output || entry.error !== undefined) && (
                        <Button
                          look="quiet"
                          aria-expanded={open === entry.bead_id}
                          onClick={() => setOpen(open === entry.bead_id ? undefined : entry.bead_id)}
                        >
                          Output
                        </Button>
                      )}
                    </span>
                    <span className="hidden justify-self-end text-xs text-muted @2xl:block">
                      <Age at={entry.started_at ?? entry.created_at} />
                    </span>
                  </div>
                  {open === entry.bead_id && (
                    <div className="px-4 pb-3">
                      <Code>
                        {[entry.error, entry.exit_code === undefined ? undefined : `exit code ${entry.exit_code}`, entry.output]
                          .filter((one) => one !== undefined && one !== '')
                          .join('\n')}
                      </Code>
                    </div>
                  )}
                </li>
              ))}
            </ol>
          </Card>
        </>
      )}
      {firing && order !== undefined && (
        <FireForm
          city={city}
          order={order}
          onClose={() => setFiring(false)}
          onDone={() => {
            setFiring(false);
            done(`${name} is fired`);
            again();
          }}
        />
      )}
    </CityPage>
  );
}

interface FireProps {
  readonly city: string;
  readonly order: Schemas['OrderResponse'];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** By hand, with other values for once. */
function FireForm({ city, order: { scoped_name: name, params = {} }, onDone, onClose }: FireProps): ReactNode {
  const [vars, setVars] = useState<Readonly<Record<string, string>>>({});
  const [force, setForce] = useState(false);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const wishes = useWishes();
  const not = useForbidden(needs.runOrder);
  const fire = (): void => {
    setBusy(true);
    setError(undefined);
    const filled = Object.fromEntries(Object.entries(vars).filter(([, value]) => value !== ''));
    const body = { ...(Object.keys(filled).length === 0 ? {} : { vars: filled }), ...(force ? { force } : {}) };
    const sent = wishes.send(body, (idempotencyKey) => post(inCity(city, `order/${part(name)}/run`), body, { idempotencyKey }));
    sent.then(onDone, (refused: unknown) => {
      setError(refused);
      setBusy(false);
    });
  };
  return (
    <Modal title={`Fire ${name}`} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          fire();
        }}
      >
        {Object.entries(params).map(([one, { required }]) => (
          <Field key={one} label={required ? one : `${one} (may stay empty)`}>
            {(id) => (
              <input
                id={id}
                required={required}
                value={vars[one] ?? ''}
                onChange={(event) => setVars({ ...vars, [one]: event.target.value })}
                className="field"
              />
            )}
          </Field>
        ))}
        <label className="flex min-h-8 items-center gap-2 text-sm">
          <input type="checkbox" checked={force} onChange={(event) => setForce(event.target.checked)} />
          Also beside a firing that goes on
        </label>
        {error !== undefined && <Problem error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" not={not} disabled={busy}>
            Fire
          </Button>
        </div>
      </form>
    </Modal>
  );
}
