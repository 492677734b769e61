import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, type ReactNode } from 'react';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import { useDrawn } from '../lib/drawn.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { useAsking } from '../live/asking.js';
import { sessionsOf } from '../live/sessions.js';
import { useCityList } from '../live/use-list.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Modal } from '../parts/basics.js';
import { CreateSession } from '../parts/create-session.js';
import { useListKeys } from '../parts/list-keys.js';
import { countOf, Filter, Left, List, ListRow, Which } from '../parts/list-view.js';
import { CityPage } from '../parts/page.js';
import { nameOf, SessionState } from '../parts/session-state.js';

const STATES = [
  ['', 'Open'],
  ['all', 'All'],
  ['active', 'Active'],
  ['closed', 'Closed'],
] as const;

/** Who runs, on what, since when, and who waits for an answer. */
export function Sessions(): ReactNode {
  const { city } = useParams({ from: '/c/$city/sessions' });
  const { state, q = '', new: creating } = useSearch({ from: '/c/$city/sessions' });
  const navigate = useNavigate({ from: '/c/$city/sessions' });
  const { list, snapshot } = useCityList(city, state ?? '', () => sessionsOf(city, { state }));
  const asking = useAsking(city);
  const rows = useMemo(() => {
    const words = q.toLowerCase();
    return snapshot.rows.filter((session) =>
      [nameOf(session), session.id, session.template, session.provider].some((text) => text.toLowerCase().includes(words)),
    );
  }, [snapshot, q]);
  const { drawn, left, more } = useDrawn(rows);
  const create = (open: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (open ? { ...rest, new: '1' } : rest), replace: true });
  const filter = useRef<HTMLInputElement>(null);
  const at = useListKeys(
    'Sessions',
    drawn.map(({ id }) => id),
    undefined,
    (id) => {
      if (id !== undefined) void navigate({ to: '/c/$city/sessions/$id', params: { city, id } });
    },
  );
  const not = useForbidden(needs.createSession);
  useKeys('Sessions of the city', [
    ...(not === undefined ? [{ keys: 'c', label: 'new session', run: () => create(true) }] : []),
    { keys: '/', label: 'filter', run: () => filter.current?.focus() },
  ]);
  const known = snapshot.phase !== 'first';
  return (
    <CityPage
      city={city}
      title="Sessions"
      count={known ? countOf(rows.length, snapshot.total, snapshot.least) : undefined}
      error={snapshot.error}
      onRetry={() => void list.read()}
      asOf={oldSince(snapshot)}
      tools={
        <>
          <Which
            label="Which sessions"
            value={state}
            options={state === undefined || STATES.some(([one]) => one === state) ? STATES : [...STATES, [state, state]]}
            onChange={(next) => void navigate({ search: (before) => ({ ...before, state: next }) })}
          />
          <Filter
            label="Filter sessions"
            value={q}
            box={filter}
            onChange={(next) => void navigate({ search: (before) => ({ ...before, q: next }), replace: true })}
          />
          <Button look="primary" hotkey="c" not={not} onClick={() => create(true)}>
            New session
          </Button>
        </>
      }
    >
      <List
        label="Sessions"
        rows={known && (snapshot.phase === 'live' || rows.length > 0) ? drawn : undefined}
        failed={snapshot.error !== undefined}
        none={[
          'No session is open',
          <>
            <p>A session is an agent that you talk to, or that works on beads.</p>
            <Button look="primary" not={not} onClick={() => create(true)}>
              Start a session
            </Button>
          </>,
        ]}
        filtered={
          q === '' && state === undefined
            ? undefined
            : {
                title: `0 of ${snapshot.total}${snapshot.least ? '+' : ''}`,
                clear: 'Clear filters',
                onClear: () => void navigate({ search: {} }),
              }
        }
        row={(session) => (
          <ListRow key={session.id} kind="data-session" id={session.id} here={session.id === at}>
            <Link
              to="/c/$city/sessions/$id"
              params={{ city, id: session.id }}
              className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-0.5 px-4 py-2.5 hover:bg-raised @2xl:grid-cols-[1fr_9rem_10rem_4rem]"
            >
              <span className="min-w-0">
                <span className="block truncate font-medium">{visible(nameOf(session))}</span>
                <span className="block truncate text-xs text-muted">
                  {session.id}
                  {session.active_bead !== undefined && session.active_bead !== '' && ` · on ${session.active_bead}`}
                  {session.reason !== undefined && session.reason !== '' && ` · ${visible(session.reason)}`}
                </span>
              </span>
              <span className="justify-self-end @2xl:justify-self-start">
                <SessionState session={session} asks={asking.has(session.id)} />
              </span>
              <span className="hidden truncate text-sm text-muted @2xl:block">
                {session.template === session.provider ? session.provider : `${session.template} · ${session.provider}`}
              </span>
              <span className="hidden justify-self-end text-xs text-muted @2xl:block">
                <Age at={session.last_active ?? session.created_at} />
              </span>
            </Link>
          </ListRow>
        )}
      />
      <Left left={left} onMore={more} />
      {creating !== undefined && (
        <Modal title={`New session in ${city}`} onClose={() => create(false)}>
          <CreateSession city={city} onCancel={() => create(false)} />
        </Modal>
      )}
    </CityPage>
  );
}
