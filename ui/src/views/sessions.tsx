import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState, useSyncExternalStore, type ReactNode } from 'react';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { sessionsOf } from '../live/sessions.js';
import { asks } from '../live/supervisor.js';
import { streamOf, useCityList } from '../live/use-list.js';
import { useStreamState } from '../app/connection.js';
import { Age, Button, Empty, Modal, Problem, State } from '../parts/basics.js';
import { CreateSession } from '../parts/create-session.js';
import { nameOf, SessionState } from '../parts/session-state.js';
import { CityStopped } from '../parts/city-stopped.js';

/** Who runs, on what, since when, and who waits for an answer. */
export function Sessions(): ReactNode {
  const { city } = useParams({ from: '/c/$city/sessions' });
  const { state, q = '', new: creating } = useSearch({ from: '/c/$city/sessions' });
  const navigate = useNavigate({ from: '/c/$city/sessions' });
  const { list, snapshot } = useCityList(city, state ?? '', () => sessionsOf(city, { state }));
  const stream = useStreamState(streamOf(city));
  const waiting = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const [at, setAt] = useState(0);
  const asking = useMemo(
    () => new Set(waiting.rows.filter((ask) => ask.city === city).map(({ session_id }) => session_id)),
    [waiting, city],
  );
  const rows = useMemo(() => {
    const words = q.toLowerCase();
    return snapshot.rows.filter((session) =>
      [nameOf(session), session.id, session.template, session.provider].some((text) => text.toLowerCase().includes(words)),
    );
  }, [snapshot, q]);
  const create = (open: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (open ? { ...rest, new: '1' } : rest), replace: true });
  const focused = rows[Math.min(at, rows.length - 1)];
  useKeys('Sessions', [
    { keys: 'c', label: 'new session', run: () => create(true) },
    { keys: 'j', label: 'next', run: () => setAt((n) => Math.min(rows.length - 1, n + 1)) },
    { keys: 'k', label: 'previous', run: () => setAt((n) => Math.max(0, n - 1)) },
    {
      keys: 'o',
      label: 'open',
      run: () => {
        if (focused !== undefined) void navigate({ to: '/c/$city/sessions/$id', params: { city, id: focused.id } });
      },
    },
  ]);
  const missing = stream?.kind === 'missing';
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto flex max-w-5xl flex-col gap-4 p-4 md:p-8">
        <header className="flex flex-wrap items-center gap-3">
          <h1 className="text-lg font-semibold">Sessions</h1>
          {snapshot.phase !== 'first' && (
            <span className="text-sm text-muted">
              {rows.length === snapshot.total ? snapshot.total : `${rows.length} of ${snapshot.total}`}
            </span>
          )}
          <div className="ml-auto flex flex-wrap gap-2">
            <select
              aria-label="Which sessions"
              value={state ?? ''}
              onChange={(event) =>
                void navigate({ search: (before) => ({ ...before, state: event.target.value === '' ? undefined : event.target.value }) })
              }
              className="field w-auto"
            >
              <option value="">Open</option>
              <option value="all">All</option>
              <option value="active">Active</option>
              <option value="closed">Closed</option>
            </select>
            <input
              aria-label="Filter sessions"
              placeholder="Filter"
              value={q}
              onChange={(event) =>
                void navigate({
                  search: (before) => ({ ...before, q: event.target.value === '' ? undefined : event.target.value }),
                  replace: true,
                })
              }
              className="field w-40"
            />
            <Button look="primary" hotkey="c" onClick={() => create(true)}>
              New session
            </Button>
          </div>
        </header>
        {missing ? (
          <CityStopped city={city} why={stream.why} />
        ) : (
          <>
            {snapshot.error !== undefined && <Problem error={snapshot.error} onRetry={() => void list.read()} />}
            {snapshot.phase === 'live' && snapshot.total === 0 && snapshot.error === undefined && (
              <Empty title="No session is open">
                <p>A session is an agent that you talk to, or that works on beads.</p>
                <Button look="primary" onClick={() => create(true)}>
                  Start a session
                </Button>
              </Empty>
            )}
            {rows.length > 0 && (
              <ul className="flex flex-col divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel">
                {rows.map((session) => (
                  <li
                    key={session.id}
                    data-session={session.id}
                    aria-current={session === focused ? 'true' : undefined}
                    className="aria-[current]:bg-tint"
                  >
                    <Link
                      to="/c/$city/sessions/$id"
                      params={{ city, id: session.id }}
                      className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-0.5 px-4 py-2.5 hover:bg-raised md:grid-cols-[1fr_9rem_10rem_4rem]"
                    >
                      <span className="min-w-0">
                        <span className="block truncate font-medium">{visible(nameOf(session))}</span>
                        <span className="block truncate text-xs text-muted">
                          {session.id}
                          {session.active_bead !== undefined && session.active_bead !== '' && ` · on ${session.active_bead}`}
                          {session.reason !== undefined && session.reason !== '' && ` · ${visible(session.reason)}`}
                        </span>
                      </span>
                      <span className="justify-self-end md:justify-self-start">
                        {asking.has(session.id) ? <State tone="warn">asks you</State> : <SessionState session={session} />}
                      </span>
                      <span className="hidden truncate text-sm text-muted md:block">
                        {session.template === session.provider ? session.provider : `${session.template} · ${session.provider}`}
                      </span>
                      <span className="hidden justify-self-end text-xs text-muted md:block">
                        <Age at={session.last_active ?? session.created_at} />
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            )}
            {snapshot.total > 0 && rows.length === 0 && snapshot.phase === 'live' && (
              <Empty title={`0 of ${snapshot.total}`}>
                <Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>
              </Empty>
            )}
          </>
        )}
      </div>
      {creating !== undefined && !missing && (
        <Modal title={`New session in ${city}`} onClose={() => create(false)}>
          <CreateSession city={city} onCancel={() => create(false)} />
        </Modal>
      )}
    </div>
  );
}
