import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from 'react';
import { inCity, get, newKey, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { City, Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { useFleet, type CityNumbers } from '../live/overview.js';
import { useNoNewCity } from '../live/new-city.js';
import { asks, cities, readCities } from '../live/supervisor.js';
import { follow } from '../live/operations.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Confirm, Empty, Modal, Problem, State } from '../parts/basics.js';
import { CreateCity } from '../parts/create-city.js';
import { FirstRun } from '../parts/first-run.js';

const SHOWN = 500;

/** The fleet: how each city is, and what is done with it as a whole. */
export function Cities(): ReactNode {
  const snapshot = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const waiting = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const { q = '' } = useSearch({ from: '/cities' });
  const navigate = useNavigate({ from: '/cities' });
  const [creating, setCreating] = useState(false);
  const fleet = useFleet();
  const not = useNoNewCity();
  useKeys('Cities', not === undefined ? [{ keys: 'c', label: 'create a city', run: () => setCreating(true) }] : []);
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const { city } of waiting.rows) found.set(city, (found.get(city) ?? 0) + 1);
    return found;
  }, [waiting]);
  const rows = useMemo(() => snapshot.rows.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase())), [snapshot, q]);
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto flex max-w-4xl flex-col gap-4 p-4 md:p-8">
        <header className="flex flex-wrap items-center gap-3">
          <h1 className="text-lg font-semibold">Cities</h1>
          {snapshot.phase !== 'first' && <span className="text-sm text-muted">{snapshot.total}</span>}
          <input
            aria-label="Filter cities by name"
            placeholder="Filter"
            value={q}
            onChange={(event) => void navigate({ search: event.target.value === '' ? {} : { q: event.target.value }, replace: true })}
            className="field ml-auto max-w-48"
          />
          <Button look="primary" hotkey="c" not={not} onClick={() => setCreating(true)}>
            New city
          </Button>
        </header>
        {snapshot.error !== undefined && <Problem error={snapshot.error} onRetry={readCities} asOf={oldSince(snapshot)} />}
        {fleet.error !== undefined && <Problem error={fleet.error} onRetry={fleet.again} />}
        {fleet.data?.totals !== undefined && snapshot.total > 1 && (
          <p className="text-sm tabular-nums text-muted">
            {fleet.data.totals.running} of {fleet.data.totals.cities} run · <Numbers numbers={fleet.data.totals} />
          </p>
        )}
        {snapshot.phase === 'live' && snapshot.total === 0 && snapshot.error === undefined && <FirstRun />}
        {snapshot.total > 0 && rows.length === 0 && <Empty title={`0 of ${snapshot.total}`}>No city has “{q}” in its name.</Empty>}
        <ul className="flex flex-col gap-2">
          {rows.slice(0, SHOWN).map((city) => (
            <CityRow key={city.name} city={city} numbers={fleet.data?.cities.get(city.name)} asks={counts.get(city.name) ?? 0} />
          ))}
        </ul>
        {rows.length > SHOWN && <p className="text-sm text-muted">The first {SHOWN} are shown: filter by name for the others.</p>}
      </div>
      {creating && (
        <Modal title="New city" onClose={() => setCreating(false)}>
          <CreateCity onDone={() => setCreating(false)} onCancel={() => setCreating(false)} />
        </Modal>
      )}
    </div>
  );
}

interface Counts {
  readonly sessions: Readonly<Record<string, number>>;
  readonly ready: number;
  readonly in_progress: number;
  readonly unread: number;
  readonly total_is_estimate?: boolean;
}

/** What there is, in words; what there is none of is left out. */
function Numbers({ numbers: { sessions, ready, in_progress: going, unread, total_is_estimate: more } }: { numbers: Counts }): ReactNode {
  // There is at least so much, where not all was counted.
  const some = (n: number): string => (more === true ? `${n}+` : String(n));
  const open = Object.values(sessions).reduce((sum, one) => sum + one, 0);
  const words = [
    open === 0 ? undefined : counted(open, 'session'),
    ready === 0 ? undefined : `${some(ready)} ready`,
    going === 0 ? undefined : `${some(going)} in progress`,
    unread === 0 ? undefined : `${some(unread)} unread mail`,
  ].filter((one) => one !== undefined);
  return words.length === 0 ? 'nothing to do' : words.join(' · ');
}

interface RowProps {
  readonly city: City;
  readonly numbers: CityNumbers | undefined;
  readonly asks: number;
}

function CityRow({ city, numbers, asks: count }: RowProps): ReactNode {
  const [error, setError] = useState<unknown>();
  const [asked, ask] = useState<'stop' | 'unregister'>();
  const [about, setAbout] = useState<Schemas['CityGetResponse']>();
  const configure = useForbidden(needs.unregisterCity);
  const operate = useForbidden(needs.startCity, needs.stopCity, needs.updateCity);
  const { name, running, status = '' } = city;
  const run = async (action: 'start' | 'stop' | 'unregister', label: string): Promise<void> => {
    setError(undefined);
    try {
      const { request_id } = await post<{ request_id: string }>(inCity(name, action), undefined, { idempotencyKey: newKey() });
      await follow(`${label} ${name}`, request_id);
    } catch (refused) {
      setError(refused);
    }
  };
  const look = (): void => {
    if (about !== undefined) return setAbout(undefined);
    get<Schemas['CityGetResponse']>(inCity(name)).then(setAbout, setError);
  };
  const suspend = async (suspended: boolean): Promise<void> => {
    try {
      await request('PATCH', inCity(name), { body: { suspended } });
      setAbout(await get<Schemas['CityGetResponse']>(inCity(name)));
    } catch (refused) {
      setError(refused);
    }
  };
  // What somebody else does meanwhile changes it: they would be asked to do it once more.
  const isOpen = about !== undefined;
  const last = numbers?.last_event?.seq;
  useEffect(() => {
    if (isOpen && running) get<Schemas['CityGetResponse']>(inCity(name)).then((now) => setAbout((open) => open && now), setError);
  }, [last]);
  const failed = status === 'init_failed';
  return (
    <li data-city={name} className="flex flex-col gap-2 rounded-xl border border-line bg-panel px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <Link to="/c/$city" params={{ city: name }} className="font-semibold hover:underline">
            {name}
          </Link>
          <p className="truncate text-xs text-muted" title={city.path}>
            {city.path}
          </p>
          {numbers !== undefined && running && (
            <p data-numbers className="truncate text-sm tabular-nums text-muted">
              <Numbers numbers={numbers} />
              {numbers.cost_today_usd > 0 && ` · $${numbers.cost_today_usd.toFixed(2)} today`}
              {numbers.last_event !== undefined && (
                <>
                  {' · '}
                  <Age at={numbers.last_event.ts} /> ago
                </>
              )}
            </p>
          )}
        </div>
        <State tone={running ? 'good' : failed ? 'bad' : status === 'stopped' || status === '' ? 'quiet' : 'accent'}>
          {running ? 'running' : failed ? 'failed' : status === '' ? 'stopped' : status.replaceAll('_', ' ')}
        </State>
        {count > 0 && (
          <Link to="/" search={{ city: name }} className="text-sm font-medium text-accent underline">
            {counted(count, 'question')}
          </Link>
        )}
        <div className="flex flex-wrap gap-1.5">
          {running ? (
            <>
              <Button onClick={look} aria-expanded={about !== undefined}>
                Details
              </Button>
              <Button not={operate} onClick={() => ask('stop')}>
                Stop
              </Button>
            </>
          ) : (
            <Button not={operate} onClick={() => void run('start', 'Start')}>
              Start
            </Button>
          )}
          <Button look="bad" not={configure} onClick={() => ask('unregister')}>
            Unregister
          </Button>
        </div>
      </div>
      {city.error !== undefined && <p className="words text-sm text-bad">{city.error}</p>}
      {running && numbers?.config_error !== undefined && (
        <Link to="/c/$city/config" params={{ city: name }} className="words text-sm text-bad hover:underline">
          Its files were refused: {visible(numbers.config_error)}
        </Link>
      )}
      {error !== undefined && <Problem error={error} />}
      {running && about !== undefined && (
        <div className="flex flex-wrap items-center gap-x-6 gap-y-1 border-t border-line pt-2 text-sm">
          <span>{counted(about.agent_count, 'agent')}</span>
          <span>{counted(about.rig_count, 'rig')}</span>
          {about.provider !== undefined && <span>provider {about.provider}</span>}
          <State tone={about.suspended ? 'warn' : 'good'}>{about.suspended ? 'suspended' : 'agents may run'}</State>
          <Button className="ml-auto" not={operate} onClick={() => void suspend(!about.suspended)}>
            {about.suspended ? 'Resume' : 'Suspend'}
          </Button>
        </div>
      )}
      {asked === 'stop' && (
        <Confirm title={`Stop ${name}?`} action={`Stop ${name}`} onYes={() => void run('stop', 'Stop')} onClose={() => ask(undefined)}>
          Its agents are stopped where they are, and nothing of it can be read or changed until it is started again. What it has stays.
        </Confirm>
      )}
      {asked === 'unregister' && (
        <Confirm
          title={`Unregister ${name}?`}
          action={`Unregister ${name}`}
          onYes={() => void run('unregister', 'Unregister')}
          onClose={() => ask(undefined)}
        >
          Its agents are stopped and the supervisor forgets it. Its directory stays.
        </Confirm>
      )}
    </li>
  );
}
