import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { gistOf } from '../../../../src/client/gist.js';
import type { LoggedEvent } from '../../api/types.js';
import { useStreamState, wordsOf } from '../../app/connection.js';
import { useKeys } from '../../lib/keys.js';
import { visible } from '../../lib/text.js';
import { hub } from '../../live/hub.js';
import { Age, Button, Empty, Problem, State } from '../../parts/basics.js';
import { CityStopped } from '../../parts/city-stopped.js';
import { Copy } from '../admin/forms.js';
import { freshOf, idOf, says, type EventFilter } from './filter.js';
import { Histogram } from './histogram.js';
import { useTail } from './tail.js';
import { Tree } from './tree.js';

const DRAWN = 500;

export interface EventSearch extends EventFilter {
  readonly range?: string | undefined;
  readonly by?: string | undefined;
}
const CHIPS = [
  ['type', 'type'],
  ['actor', 'by'],
  ['subject', 'about'],
  ['match', 'with'],
  ['city', 'in'],
] as const;

interface Props {
  readonly city: string | undefined;
  readonly search: EventSearch;
  readonly onSearch: (next: EventSearch, replace: boolean) => void;
}

/** The log: its newest events and what comes, how much there was over time, and each event with all that it says. */
export function EventLog({ city, search, onSearch }: Props): ReactNode {
  const { range = '24h', by = 'type', ...filter } = search;
  const { snapshot, again, older, more, stream } = useTail(city, filter);
  const state = useStreamState(stream);
  const [paused, pause] = useState<{ readonly of: string; readonly rows: readonly LoggedEvent[] }>();
  const [open, setOpen] = useState<string>();
  const words = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const of = JSON.stringify([city, { ...filter, q: undefined }]);
  const held = paused?.of === of ? paused.rows : undefined;
  const toggle = (): void => pause(paused === undefined ? { of, rows: snapshot.rows } : undefined);
  // What is filtered otherwise stands still as it is then: neither shows what it had before something of the log that the service has.
  useEffect(() => {
    if (paused !== undefined && held === undefined && snapshot.phase === 'live') pause({ of, rows: snapshot.rows });
  }, [paused, held, snapshot, of]);
  const step = (steps: number): void => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>('[data-open]') ?? [])];
    const at = rows.findIndex((row) => row === document.activeElement);
    rows[Math.max(0, Math.min(rows.length - 1, at + steps))]?.focus();
  };
  useKeys('Events', [
    { keys: 'p', label: 'pause, go on', run: toggle },
    { keys: '/', label: 'filter', run: () => words.current?.focus() },
    { keys: 'j', label: 'next event', repeats: true, run: () => step(1) },
    { keys: 'k', label: 'previous event', repeats: true, run: () => step(-1) },
    { keys: 'o', label: 'all that it says', run: () => (document.activeElement as HTMLElement | null)?.click() },
    { keys: 'Escape', label: 'clear filters', run: () => onSearch({}, true) },
  ]);
  const set = (next: Partial<EventSearch>, replace = true): void =>
    onSearch(
      Object.fromEntries(Object.entries({ ...search, ...next }).filter(([, value]) => value !== undefined && value !== '')),
      replace,
    );
  const all = held ?? snapshot.rows;
  const rows = useMemo(() => all.filter((event) => says(event, filter.q ?? '')), [all, filter.q]);
  const fresh = useMemo(() => (held === undefined ? 0 : freshOf(held, snapshot.rows)), [held, snapshot.rows]);
  const filtered = Object.values(filter).some((value) => value !== undefined);
  if (city !== undefined && state?.kind === 'missing')
    return (
      <>
        <h1 className="sr-only">Events</h1>
        <CityStopped city={city} why={state.why} />
      </>
    );
  const { tone, text } = wordsOf(state);
  return (
    <div className="flex h-full flex-col">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line bg-panel px-4 py-2.5">
        <h1 className="font-semibold">{city === undefined ? 'Events of all cities' : 'Events'}</h1>
        {paused !== undefined ? (
          <State tone="warn">{fresh > 0 ? `paused, ${fresh} new` : 'paused'}</State>
        ) : filter.until !== undefined ? (
          <State tone="quiet">history</State>
        ) : (
          <State tone={tone}>{text}</State>
        )}
        {state?.kind === 'paused' && <Button onClick={() => hub.resume(stream)}>Follow again</Button>}
        <div className="flex w-full flex-wrap gap-2 md:ml-auto md:w-auto">
          <input
            aria-label="Type, or how it begins"
            placeholder="Type, as bead."
            value={filter.type ?? ''}
            onChange={(event) => set({ type: event.target.value })}
            className="field min-w-0 flex-1 md:w-40 md:flex-none"
          />
          <input
            ref={words}
            aria-label="Filter events"
            placeholder="Filter"
            value={filter.q ?? ''}
            onChange={(event) => set({ q: event.target.value })}
            className="field min-w-0 flex-1 md:w-40 md:flex-none"
          />
          <Button hotkey="p" onClick={toggle}>
            {paused === undefined ? 'Pause' : 'Go on'}
          </Button>
        </div>
      </header>
      {(CHIPS.some(([name]) => filter[name] !== undefined) || filter.since !== undefined) && (
        <div role="group" aria-label="Filters" className="flex flex-wrap items-center gap-1.5 border-b border-line bg-panel px-4 py-1.5">
          {CHIPS.map(([name, word]) =>
            filter[name] === undefined ? null : (
              <Button key={name} title="Leave this filter out" onClick={() => set({ [name]: undefined })}>
                <span className="text-muted">{word}</span> <code className="words text-xs">{visible(filter[name])}</code> ×
              </Button>
            ),
          )}
          {filter.since !== undefined && (
            <Button title="Leave this filter out" onClick={() => set({ since: undefined, until: undefined })}>
              {stretchOf(filter.since, filter.until)} ×
            </Button>
          )}
          <Button look="quiet" onClick={() => onSearch({}, true)}>
            Clear filters
          </Button>
        </div>
      )}
      <div className="min-h-0 flex-1 overflow-auto" tabIndex={0} role="group" aria-label="The log">
        <Histogram
          city={city}
          filter={filter}
          stream={stream}
          range={range}
          by={by}
          onRange={(next) => set({ range: next === '24h' ? undefined : next, since: undefined, until: undefined })}
          onBy={(next) => set({ by: next === 'type' ? undefined : next })}
          onStretch={(since, until) => set({ since, until }, false)}
        />
        {snapshot.error !== undefined && (
          <div className="p-3">
            <Problem error={snapshot.error} onRetry={again} />
          </div>
        )}
        {snapshot.phase !== 'first' && rows.length === 0 && snapshot.error === undefined && (
          <Empty title={filtered ? 'Nothing fits these filters' : 'Nothing has happened yet'}>
            {filtered && <Button onClick={() => onSearch({}, true)}>Clear filters</Button>}
          </Empty>
        )}
        <ol ref={list} aria-label="Events, the newest first">
          {rows.slice(0, DRAWN).map((event) => {
            const id = idOf(event);
            return (
              <li
                key={id}
                data-seq={event.seq}
                data-row={id}
                className="border-b border-line [content-visibility:auto] [contain-intrinsic-block-size:auto_1.75rem]"
              >
                <button
                  type="button"
                  data-open
                  aria-expanded={open === id}
                  onClick={() => setOpen(open === id ? undefined : id)}
                  className="grid w-full grid-cols-[3rem_1fr_auto] items-baseline gap-x-3 px-4 py-1.5 text-left hover:bg-raised md:grid-cols-[4rem_16rem_1fr_8rem_3rem]"
                >
                  <span className="font-mono text-xs text-muted">{event.seq}</span>
                  <span className="truncate font-mono text-xs">{visible(event.type)}</span>
                  <span className="hidden truncate text-sm md:block">
                    {city === undefined && event.city !== undefined && <span className="mr-2 text-muted">{visible(event.city)}</span>}
                    {event.subject !== undefined && <span className="mr-2 font-mono text-xs text-muted">{visible(event.subject)}</span>}
                    {visible(gistOf(event) ?? '')}
                  </span>
                  <span className="hidden truncate text-xs text-muted md:block">{visible(event.actor)}</span>
                  <span className="justify-self-end text-xs text-muted">
                    <Age at={event.ts} />
                  </span>
                </button>
                {open === id && <OneEvent event={event} city={city} onFilter={(next) => set(next, false)} />}
              </li>
            );
          })}
        </ol>
        {rows.length > DRAWN && (
          <p className="px-4 py-1.5 text-xs text-muted">
            The newest {DRAWN} of {rows.length} are drawn: filter for the others.
          </p>
        )}
        {more && rows.length <= DRAWN && (
          <div className="flex justify-center p-3">
            <Button disabled={snapshot.phase === 'reading'} onClick={older}>
              Show older
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

const stretchOf = (since: string, until: string | undefined): string =>
  since.includes('T')
    ? `${new Date(since).toLocaleString()}${until === undefined ? '' : ` – ${new Date(until).toLocaleTimeString()}`}`
    : `within ${since}`;

interface OneProps {
  readonly event: LoggedEvent;
  readonly city: string | undefined;
  readonly onFilter: (filter: EventFilter) => void;
}

/** All that an event says: each value leads to the events that have it too. */
function OneEvent({ event, city, onFilter }: OneProps): ReactNode {
  const pick = (name: 'type' | 'actor' | 'subject' | 'city', word: string): ReactNode => {
    const value = event[name];
    if (value === undefined || value === '') return null;
    return (
      <Button onClick={() => onFilter({ [name]: value })}>
        <span className="text-muted">{word}</span> <code className="words text-xs">{visible(value)}</code>
      </Button>
    );
  };
  const at = event.city ?? city;
  return (
    <div data-event={event.seq} className="flex flex-col gap-3 bg-ground px-4 py-3">
      <p className="text-xs text-muted">{new Date(event.ts).toLocaleString()}</p>
      {event.message !== undefined && <p className="words text-sm">{visible(event.message)}</p>}
      <div className="flex flex-wrap gap-1.5">
        {pick('type', 'only')}
        {pick('actor', 'only by')}
        {pick('subject', 'only about')}
        {city === undefined && pick('city', 'only in')}
        {event.session_id !== undefined && event.session_id !== '' && at !== undefined && (
          <Link
            to="/c/$city/sessions/$id"
            params={{ city: at, id: event.session_id }}
            className="inline-flex min-h-8 items-center px-1.5 text-sm text-accent underline"
          >
            session {visible(event.session_id)}
          </Link>
        )}
        <span className="ml-auto">
          <Copy text={JSON.stringify(event, null, 2)} label="Copy as JSON" />
        </span>
      </div>
      <Tree value={event.payload} onPick={(path, value) => onFilter({ match: `${path}=${value}` })} />
    </div>
  );
}
