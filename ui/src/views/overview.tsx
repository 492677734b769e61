import { Link, useParams } from '@tanstack/react-router';
import { useMemo, useSyncExternalStore, type ReactNode } from 'react';
import { gistOf } from '../../../src/client/gist.js';
import { get, inCity, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { onFrame } from '../live/frame.js';
import { LiveList } from '../live/list.js';
import { sessionsOf } from '../live/sessions.js';
import { asks } from '../live/supervisor.js';
import { done } from '../live/undo.js';
import { useCityList, type Made } from '../live/use-list.js';
import { useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Problem, State } from '../parts/basics.js';
import { Card, CityPage, Loading } from '../parts/page.js';
import { RefusedFiles } from '../parts/refused-files.js';
import { Numbers } from './overview/numbers.js';
import { Waits } from './overview/waits.js';
import { Working } from './overview/working.js';

const NEWEST = 50;
/** All that happens changes something of it: not oftener than this. */
const OVERVIEW_PAUSE_MS = 2_000;

function newestOf(city: string): Made<LoggedEvent> {
  const list: LiveList<LoggedEvent> = new LiveList<LoggedEvent>({
    read: async () => {
      const { items } = await get<{ items: LoggedEvent[] }>(inCity(city, 'events'), { query: { limit: NEWEST } });
      return { items, total: items.length };
    },
    id: ({ seq }) => String(seq),
    version: () => 1,
    order: (a, b) => b.seq - a.seq,
    schedule: onFrame,
    most: NEWEST,
  });
  return { list, event: (event) => list.put(event) };
}

/** A city at a glance: its numbers, who works on what, what waits, and what happens. */
export function Overview(): ReactNode {
  const { city } = useParams({ from: '/c/$city' });
  const { data, error, asOf, again } = useCityRead(
    city,
    'overview',
    async (signal) => {
      const [status, demand, about, usage] = await Promise.all([
        get<Schemas['StatusBody']>(inCity(city, 'status'), { signal }),
        get<Schemas['HookDemandResponse']>(inCity(city, 'hook/demand'), { signal }),
        get<Schemas['CityGetResponse']>(inCity(city), { signal }),
        get<Schemas['UsageBody']>(inCity(city, 'usage'), { query: { aggregate_only: true }, signal }),
      ]);
      return { status, demand: demand.items, suspended: about.suspended, today: usage.today };
    },
    () => true,
    OVERVIEW_PAUSE_MS,
  );
  const { snapshot: sessions } = useCityList(city, 'overview', () => sessionsOf(city, {}));
  const { snapshot: events } = useCityList(city, 'newest', () => newestOf(city));
  const waiting = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const mine = useMemo(() => waiting.rows.filter((ask) => ask.city === city), [waiting, city]);
  const { failed, busy, act } = useActing(again);
  const not = useForbidden(needs.updateCity);
  const suspend = (suspended: boolean): void =>
    act(
      () => request('PATCH', inCity(city), { body: { suspended } }),
      () => {
        again();
        done(suspended ? `${city} is suspended` : `${city} goes on`, () =>
          request('PATCH', inCity(city), { body: { suspended: !suspended } }).then(again),
        );
      },
    );
  return (
    <CityPage
      city={city}
      title={city}
      error={failed ?? error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        data !== undefined && (
          <>
            <State tone={data.suspended ? 'warn' : 'good'}>{data.suspended ? 'suspended' : 'agents may run'}</State>
            <Button not={not} disabled={busy} onClick={() => suspend(!data.suspended)}>
              {data.suspended ? 'Resume' : 'Suspend'}
            </Button>
          </>
        )
      }
    >
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Numbers city={city} status={data.status} today={data.today} asks={mine.length} />
      )}
      {data?.status.config_rejected !== undefined && <RefusedFiles rejected={data.status.config_rejected} link={city} />}
      {mine.length > 0 && (
        <Card
          title={mine.length === 1 ? 'A question waits for you' : `${mine.length} questions wait for you`}
          aside={
            <Link to="/" search={{ city }} className="text-accent underline">
              Answer
            </Link>
          }
        >
          <ul className="flex flex-col divide-y divide-line">
            {mine.slice(0, 5).map((ask) => (
              <li key={`${ask.session_id} ${ask.request_id}`} className="flex items-baseline gap-3 px-4 py-2 text-sm">
                <Link
                  to="/c/$city/sessions/$id"
                  params={{ city, id: ask.session_id }}
                  className="min-w-0 truncate font-medium hover:underline"
                >
                  {visible([ask.alias, ask.agent, ask.title].find((one) => one !== undefined && one !== '') ?? ask.session_id)}
                </Link>
                <span className="min-w-16 flex-1 truncate">{visible(ask.prompt ?? ask.kind)}</span>
                <span className="text-xs text-muted">
                  <Age at={ask.opened_at} />
                </span>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <div className="grid items-start gap-4 @3xl:grid-cols-2">
        <Working city={city} sessions={sessions.rows} total={sessions.total} error={sessions.error} />
        {data !== undefined && <Waits city={city} status={data.status} demand={data.demand} />}
      </div>
      <Card
        title="What happens"
        aside={
          <Link to="/c/$city/events" params={{ city }} className="text-accent underline">
            All events
          </Link>
        }
      >
        {events.error !== undefined && (
          <div className="p-3">
            <Problem error={events.error} />
          </div>
        )}
        <ol aria-label="The newest events" className="flex flex-col divide-y divide-line">
          {events.rows.slice(0, NEWEST).map((event) => (
            <li
              key={event.seq}
              data-seq={event.seq}
              className="grid grid-cols-[1fr_auto] items-baseline gap-x-3 px-4 py-1 text-sm @2xl:grid-cols-[13rem_1fr_8rem_3rem]"
            >
              <span className="truncate font-mono text-xs">{visible(event.type)}</span>
              <span className="hidden truncate @2xl:block">
                {event.subject !== undefined && <span className="mr-2 font-mono text-xs text-muted">{visible(event.subject)}</span>}
                {visible(gistOf(event) ?? '')}
              </span>
              <span className="hidden truncate text-xs text-muted @2xl:block">{visible(event.actor)}</span>
              <span className="justify-self-end text-xs text-muted">
                <Age at={event.ts} />
              </span>
            </li>
          ))}
        </ol>
        {events.phase === 'live' && events.rows.length === 0 && <p className="p-4 text-sm text-muted">Nothing has happened yet.</p>}
      </Card>
    </CityPage>
  );
}
