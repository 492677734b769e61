import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import type { Ask } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { attentionOf } from '../live/attention.js';
import { setNotices, useNotices } from '../live/notices.js';
import { useFleet } from '../live/overview.js';
import { asks, cities } from '../live/supervisor.js';
import { AskCard } from '../parts/ask-card.js';
import { AttentionList } from '../parts/attention.js';
import { Empty, Problem } from '../parts/basics.js';
import { FirstRun } from '../parts/first-run.js';

const idOf = ({ city, session_id, request_id }: Ask): string => `${city}/${session_id}/${request_id}`;

/** What needs a person now, over all cities, the oldest first. */
export function Inbox(): ReactNode {
  const snapshot = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const fleet = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const { city } = useSearch({ from: '/' });
  const navigate = useNavigate();
  const rows = useMemo(() => (city === undefined ? snapshot.rows : snapshot.rows.filter((ask) => ask.city === city)), [snapshot, city]);
  const [chosen, choose] = useState<string>();
  const movedAt = useRef(0);
  const before = useRef<readonly string[]>([]);
  const order = rows.map(idOf);
  // Whatever was answered elsewhere leaves; what follows it is focused.
  const place = useRef(0);
  const at = Math.max(
    0,
    chosen !== undefined && order.includes(chosen) ? order.indexOf(chosen) : Math.min(place.current, order.length - 1),
  );
  useLayoutEffect(() => {
    if (before.current.some((id, i) => order[i] !== id)) movedAt.current = performance.now();
    before.current = order;
    place.current = at;
  });
  const move = (by: number) => (): void => choose(order[Math.max(0, Math.min(order.length - 1, at + by))]);
  const focused = rows[at];
  useKeys('Inbox', [
    { keys: 'j', label: 'next question', run: move(1) },
    { keys: 'k', label: 'previous question', run: move(-1) },
    {
      keys: 'o',
      label: 'open its session',
      run: () => {
        if (focused !== undefined) void navigate({ to: '/c/$city/sessions/$id', params: { city: focused.city, id: focused.session_id } });
      },
    },
  ]);
  const known = snapshot.phase !== 'first';
  const numbers = useFleet();
  const rest = useMemo(() => {
    const all = attentionOf(numbers.data?.cities.values() ?? []);
    return city === undefined ? all : all.filter((one) => one.city === city);
  }, [numbers.data, city]);
  const notices = useNotices();
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto flex max-w-3xl flex-col gap-3 p-4 md:p-8">
        <header className="flex items-baseline gap-3">
          <h1 className="text-lg font-semibold">Inbox</h1>
          {known && rows.length > 0 && (
            <p className="text-sm text-muted">
              {rows.length === 1 ? 'One question waits' : `${rows.length} questions wait`}
              {snapshot.total > snapshot.rows.length && ` of ${snapshot.total}`}
            </p>
          )}
          {city !== undefined && (
            <Link to="/" className="ml-auto text-sm text-accent underline">
              Only {city}: show all
            </Link>
          )}
        </header>
        {snapshot.error !== undefined && <Problem error={snapshot.error} onRetry={() => void asks.read()} />}
        {rows.map((ask, i) => (
          <AskCard key={idOf(ask)} ask={ask} focused={i === at} movedAt={movedAt} onFocus={() => choose(idOf(ask))} />
        ))}
        {known && fleet.phase === 'live' && rows.length === 0 && fleet.total === 0 && <FirstRun />}
        {known && rows.length === 0 && fleet.total > 0 && (
          <Empty title={rest.length === 0 ? 'Nothing needs you' : 'No question waits'}>
            <p>When an agent asks for something, it stands here, and in the title of this tab.</p>
            <p className="flex flex-wrap justify-center gap-x-4 gap-y-1">
              <Link to="/cities" className="text-accent underline">
                Look at the cities
              </Link>
              {notices === 'off' && (
                <button type="button" onClick={() => void setNotices(true)} className="text-accent underline">
                  Tell me while I look elsewhere
                </button>
              )}
            </p>
          </Empty>
        )}
        {numbers.error !== undefined && snapshot.error === undefined && <Problem error={numbers.error} onRetry={numbers.again} />}
        {rest.length > 0 && <AttentionList items={rest} />}
      </div>
    </div>
  );
}
