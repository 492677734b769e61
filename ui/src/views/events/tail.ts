import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { get, inCity } from '../../api/client.js';
import type { LoggedEvent } from '../../api/types.js';
import { onFrame } from '../../live/frame.js';
import { hub } from '../../live/hub.js';
import { LiveList, type Snapshot } from '../../live/list.js';
import { streamOf } from '../../live/use-list.js';
import { fits, idOf, queryOf, type EventFilter } from './filter.js';

const PAGE = 200;
const KEPT = 5_000;

export const ALL = '/v0/events/stream';

interface Tail {
  readonly snapshot: Snapshot<LoggedEvent>;
  readonly again: () => void;
  /** Reads further back. */
  readonly older: () => void;
  /** Whether there are older ones than those that were read. */
  readonly more: boolean;
  readonly stream: string;
}

/** The newest events that fit, of a city or of all, and all that come; the log itself stays with the service. */
export function useTail(city: string | undefined, filter: EventFilter): Tail {
  const { q: _, ...asked } = filter;
  const key = JSON.stringify([city, asked]);
  const wanted = useRef(PAGE);
  const more = useRef(false);
  const made = useMemo(() => {
    wanted.current = PAGE;
    more.current = false;
    let seen = 0;
    const list: LiveList<LoggedEvent> = new LiveList<LoggedEvent>({
      read: async (cursor) => {
        if (cursor === undefined) seen = 0;
        const page = await get<{ items: LoggedEvent[]; total: number; next_cursor?: string }>(
          city === undefined ? '/v0/events' : inCity(city, 'events'),
          { query: { ...queryOf(asked), limit: PAGE, cursor } },
        );
        seen += page.items.length;
        more.current = page.next_cursor !== undefined;
        return { items: page.items, total: page.total, next: seen < wanted.current ? page.next_cursor : undefined };
      },
      id: idOf,
      version: () => 1,
      matches: (event) => fits(event, asked),
      order: (a, b) => (city === undefined ? b.ts.localeCompare(a.ts) : 0) || b.seq - a.seq,
      schedule: onFrame,
      most: KEPT,
    });
    return list;
  }, [key]);
  const stream = city === undefined ? ALL : streamOf(city);
  const closed = asked.until !== undefined;
  useEffect(
    () =>
      hub.join(stream, {
        live: (gap) => {
          if (gap) made.doubt();
          const { phase, error } = made.snapshot();
          if (gap || phase === 'first' || error !== undefined) void made.read();
        },
        frame: ({ event, data }) => {
          if (closed || (event !== 'event' && event !== 'tagged_event')) return;
          const told = data as LoggedEvent;
          if (fits(told, asked)) made.put(told);
        },
      }),
    [stream, made],
  );
  return {
    snapshot: useSyncExternalStore(made.subscribe, made.snapshot),
    again: () => void made.read(),
    older: () => {
      wanted.current += PAGE;
      void made.read();
    },
    more: more.current,
    stream,
  };
}
