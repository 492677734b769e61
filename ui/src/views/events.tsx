import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import type { LoggedEvent } from '../api/types.js';
import { useStreamState, wordsOf } from '../app/connection.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { onFrame } from '../live/frame.js';
import { LiveList } from '../live/list.js';
import { streamOf, useCityList, type Made } from '../live/use-list.js';
import { Age, Button, Empty, Problem, State } from '../parts/basics.js';
import { CityStopped } from '../parts/city-stopped.js';
import { Code } from '../parts/tool.js';

const NEWEST = 200;
const KEPT = 5_000;
const DRAWN = 500;

/** The newest events of a city, and all that come; the log itself stays with the service. */
function tailOf(city: string): Made<LoggedEvent> {
  const list: LiveList<LoggedEvent> = new LiveList<LoggedEvent>({
    read: async () => {
      const { items, total } = await get<{ items: LoggedEvent[]; total: number }>(inCity(city, 'events'), { query: { limit: NEWEST } });
      return { items, total };
    },
    id: ({ seq }) => String(seq),
    version: () => 1,
    order: (a, b) => b.seq - a.seq,
    schedule: onFrame,
  });
  return {
    list,
    event: (event) => {
      list.put(event);
      const { rows } = list.snapshot();
      if (rows.length > KEPT) for (const { seq } of rows.slice(KEPT)) list.remove(String(seq));
    },
  };
}

export function Events(): ReactNode {
  const { city } = useParams({ from: '/c/$city/events' });
  const { type = '', q = '' } = useSearch({ from: '/c/$city/events' });
  const navigate = useNavigate({ from: '/c/$city/events' });
  const { list, snapshot } = useCityList(city, 'events', () => tailOf(city));
  const stream = useStreamState(streamOf(city));
  const [paused, pause] = useState<readonly LoggedEvent[]>();
  const [open, setOpen] = useState<number>();
  const filter = useRef<HTMLInputElement>(null);
  useKeys('Events', [
    { keys: 'p', label: 'pause, go on', run: () => pause((before) => (before === undefined ? snapshot.rows : undefined)) },
    { keys: '/', label: 'filter', run: () => filter.current?.focus() },
  ]);
  const all = paused ?? snapshot.rows;
  const rows = useMemo(() => {
    const words = q.toLowerCase();
    return all.filter(
      (event) =>
        event.type.startsWith(type) &&
        (words === '' ||
          [event.type, event.actor, event.subject, event.message].some((text) => text?.toLowerCase().includes(words) === true)),
    );
  }, [all, type, q]);
  const fresh = paused === undefined ? 0 : (snapshot.rows[0]?.seq ?? 0) - (paused[0]?.seq ?? 0);
  const set = (name: 'type' | 'q', value: string): void =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }), replace: true });
  if (stream?.kind === 'missing') return <CityStopped city={city} why={stream.why} />;
  const { tone, text } = wordsOf(stream);
  return (
    <div className="flex h-full flex-col">
      <header className="flex flex-wrap items-center gap-3 border-b border-line bg-panel px-4 py-2.5">
        <h1 className="font-semibold">Events</h1>
        {paused === undefined ? (
          <State tone={tone}>{text}</State>
        ) : (
          <State tone="warn">{fresh > 0 ? `paused, ${fresh} new` : 'paused'}</State>
        )}
        <div className="ml-auto flex flex-wrap gap-2">
          <input
            aria-label="Type begins with"
            placeholder="Type, as bead."
            value={type}
            onChange={(event) => set('type', event.target.value)}
            className="field w-36"
          />
          <input
            ref={filter}
            aria-label="Filter events"
            placeholder="Filter"
            value={q}
            onChange={(event) => set('q', event.target.value)}
            className="field w-36"
          />
          <Button hotkey="p" onClick={() => pause(paused === undefined ? snapshot.rows : undefined)}>
            {paused === undefined ? 'Pause' : 'Go on'}
          </Button>
        </div>
      </header>
      {snapshot.error !== undefined && (
        <div className="p-3">
          <Problem error={snapshot.error} onRetry={() => void list.read()} />
        </div>
      )}
      {snapshot.phase !== 'first' && rows.length === 0 && (
        <Empty title={all.length === 0 ? 'Nothing has happened yet' : `0 of ${all.length}`}>
          {all.length > 0 && <Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>}
        </Empty>
      )}
      <ol tabIndex={0} aria-label="Events, the newest first" className="min-h-0 flex-1 overflow-auto">
        {rows.slice(0, DRAWN).map((event) => (
          <li key={event.seq} data-seq={event.seq} className="border-b border-line [content-visibility:auto]">
            <button
              type="button"
              aria-expanded={open === event.seq}
              onClick={() => setOpen(open === event.seq ? undefined : event.seq)}
              className="grid w-full grid-cols-[3rem_1fr_auto] items-baseline gap-x-3 px-4 py-1.5 text-left hover:bg-raised md:grid-cols-[4rem_16rem_1fr_8rem_3rem]"
            >
              <span className="font-mono text-xs text-muted">{event.seq}</span>
              <span className="truncate font-mono text-xs">{visible(event.type)}</span>
              <span className="hidden truncate text-sm md:block">
                {event.subject !== undefined && <span className="mr-2 font-mono text-xs text-muted">{visible(event.subject)}</span>}
                {event.message === undefined ? '' : visible(event.message)}
              </span>
              <span className="hidden truncate text-xs text-muted md:block">{visible(event.actor)}</span>
              <span className="justify-self-end text-xs text-muted">
                <Age at={event.ts} />
              </span>
            </button>
            {open === event.seq && (
              <div className="px-4 pb-3">
                <Code>{JSON.stringify(event, null, 2)}</Code>
              </div>
            )}
          </li>
        ))}
      </ol>
      {rows.length > DRAWN && (
        <p className="border-t border-line px-4 py-1.5 text-xs text-muted">
          The newest {DRAWN} of {rows.length} are drawn: filter for the others.
        </p>
      )}
    </div>
  );
}
