import { get, inCity } from '../api/client.js';
import type { LoggedEvent } from '../api/types.js';
import { onFrame } from '../live/frame.js';
import { LiveList } from '../live/list.js';
import type { Made } from '../live/use-list.js';

const PAGE = 1000;
/** Beyond it the newest are shown, and that it is so. */
const MOST = 5_000;

export type Query = Readonly<Record<string, string>>;
interface Page {
  readonly items: LoggedEvent[];
  readonly next_cursor?: string;
}

/** All events that some questions of the log answer, the oldest first, and those that come. */
export function eventsOf(
  city: string,
  questions: (first: readonly LoggedEvent[]) => readonly (readonly Query[])[],
  concerns: (event: LoggedEvent, list: LiveList<LoggedEvent>) => boolean,
): Made<LoggedEvent> {
  const ask = async (query: Query): Promise<LoggedEvent[]> => {
    const found: LoggedEvent[] = [];
    for (let cursor: string | undefined; found.length < MOST;) {
      const page = await get<Page>(inCity(city, 'events'), { query: { ...query, limit: PAGE, cursor } });
      found.push(...page.items);
      cursor = page.next_cursor;
      if (cursor === undefined) break;
    }
    return found;
  };
  const list: LiveList<LoggedEvent> = new LiveList<LoggedEvent>({
    read: async () => {
      // What is asked later may depend on what was found: sessions that a bead names.
      let found = new Map<number, LoggedEvent>();
      for (let round = 0; ; round++) {
        const queries = questions([...found.values()])[round];
        if (queries === undefined) break;
        for (const events of await Promise.all(queries.map(ask))) for (const event of events) found.set(event.seq, event);
      }
      if (found.size > MOST) found = new Map([...found].sort(([a], [b]) => b - a).slice(0, MOST));
      return { items: [...found.values()], total: found.size };
    },
    id: ({ seq }) => String(seq),
    version: () => 1,
    order: (a, b) => a.seq - b.seq,
    schedule: onFrame,
  });
  return {
    list,
    event: (event) => {
      if (concerns(event, list)) list.put(event);
    },
  };
}

export const isCut = (count: number): boolean => count >= MOST;
