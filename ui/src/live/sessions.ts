import { getIndexed, inCity, part, Refusal } from '../api/client.js';
import type { Session } from '../api/types.js';
import { onFrame } from './frame.js';
import { asOf, LiveList, pageOf, type Answered } from './list.js';
import { Reader } from './reader.js';
import { SessionEvents } from './session-events.js';
import { useCityList, type Made } from './use-list.js';

const PAGE = 500;
/** Without a state the service leaves out what is closed. */
const isOpen = ({ state }: Session): boolean => state !== 'closed';

export interface SessionFilter {
  /** As it is shown; `all` for any. */
  readonly state?: string | undefined;
  readonly template?: string | undefined;
  /** One alone, by one of its names. */
  readonly only?: string;
  readonly most?: number;
}

/** The sessions of a city, or some of them, kept by their events alone. */
export function sessionsOf(city: string, { state, template, only, most }: SessionFilter): Made<Session> {
  const one = async (id: string): Promise<{ session: Session; index: number }> => {
    const { body, index = 0 } = await getIndexed<Session>(inCity(city, `session/${part(id)}`));
    return { session: events.read([body], index)[0]!, index };
  };
  const list: LiveList<Session> = new LiveList<Session>({
    read: async (cursor) => {
      if (only !== undefined) {
        const { session, index } = await one(only);
        return { items: [session], total: 1, index };
      }
      const { body, index = 0 } = await getIndexed<Answered<Session>>(inCity(city, 'sessions'), {
        query: { limit: Math.min(PAGE, most ?? PAGE), cursor, state, template },
      });
      return { ...pageOf(body), items: events.read(body.items ?? [], index), index };
    },
    id: ({ id }) => id,
    matches: (session) =>
      (state === undefined ? isOpen(session) : state === 'all' || session.state === state) &&
      (template === undefined || session.template === template),
    order: (a, b) => b.created_at.localeCompare(a.created_at) || b.id.localeCompare(a.id),
    schedule: onFrame,
    ...(most === undefined ? {} : { most }),
  });
  const reader = new Reader(async (id) => {
    try {
      const { session, index } = await one(id);
      list.put(session, asOf(index));
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) list.remove(id);
      else throw error;
    }
  });
  const events = new SessionEvents(
    list,
    (id) => reader.want(id),
    () => void list.read(),
    only,
  );
  return { list, event: (event) => events.apply(event), stop: () => reader.stop() };
}

/** One session as the city's list would have it, kept as that is. */
export function useOneSession(city: string, id: string): Session | undefined {
  return useCityList(city, `one ${id}`, () => sessionsOf(city, { state: 'all', only: id })).snapshot.rows[0];
}
