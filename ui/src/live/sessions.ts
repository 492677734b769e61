import { get, inCity, part, Refusal } from '../api/client.js';
import type { LoggedEvent, Session } from '../api/types.js';
import { onFrame } from './frame.js';
import { LiveList } from './list.js';
import { Reader } from './reader.js';
import type { Made } from './use-list.js';

const PAGE = 500;
/** Without a state the service leaves out what is closed. */
const isOpen = ({ state }: Session): boolean => state !== 'closed';

/** The sessions of a city, or one of them. Their events name them only, so each that one names is read. */
export function sessionsOf(city: string, state: string | undefined, only?: string): Made<Session> {
  const list: LiveList<Session> = new LiveList<Session>({
    read: async (cursor) => {
      if (only !== undefined) return { items: [await get<Session>(inCity(city, `session/${part(only)}`))], total: 1 };
      const page = await get<{ items: Session[] | null; total: number; next_cursor?: string }>(inCity(city, 'sessions'), {
        query: { limit: PAGE, cursor, state },
      });
      return { items: page.items ?? [], total: page.total, next: page.next_cursor };
    },
    id: ({ id }) => id,
    matches: (session) => (state === undefined ? isOpen(session) : state === 'all' || session.state === state),
    order: (a, b) => b.created_at.localeCompare(a.created_at) || b.id.localeCompare(a.id),
    schedule: onFrame,
  });
  const reader = new Reader(async (id) => {
    const stamp = list.stamp();
    try {
      list.put(await get<Session>(inCity(city, `session/${part(id)}`)), stamp);
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) list.remove(id);
      else throw error;
    }
  });
  const event = ({ type, session_id, subject, payload }: LoggedEvent): void => {
    if (!/^session\.|^worker\.operation$|^request\.result\.session\./.test(type)) return;
    const id =
      session_id ??
      (typeof payload.session_id === 'string' ? payload.session_id : undefined) ??
      (type.startsWith('session.') ? subject : undefined);
    if (id !== undefined && id !== '' && (only === undefined || list.get(id) !== undefined)) reader.want(id);
  };
  return { list, event, stop: () => reader.stop() };
}
