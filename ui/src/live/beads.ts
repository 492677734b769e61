import { get, inCity, isBarred } from '../api/client.js';
import type { Bead, LoggedEvent } from '../api/types.js';
import { Assignees, matches, type BeadFilter } from '../lib/bead-filter.js';
import { rowOf } from '../lib/bead-row.js';
import { ORDERS, type BeadSort } from '../lib/bead-order.js';
import { Again, againOf } from './again.js';
import { onFrame } from './frame.js';
import { LiveList, pageOf, type Answered } from './list.js';
import type { Made } from './use-list.js';

/** The first page is there to be seen, the others to be complete. */
const FIRST = 100;
const PAGE = 1000;
/** A number that moves with each bead is not asked for with each. */
const COUNT_MS = 5_000;

export function beadsOf(city: string, filter: BeadFilter, sort: BeadSort = 'created_at'): Made<Bead> {
  const { status, ...rest } = filter;
  // Words may be of the description: whether a bead that has changed still has them, that alone tells.
  const short = filter.text === undefined;
  const query = {
    ...rest,
    ...(status === 'all' ? { all: true } : { status }),
    ...(sort === 'created_at' ? {} : { sort }),
    ...(short ? { view: 'summary' } : {}),
  };
  const assignees = new Assignees(filter);
  const list = new LiveList<Bead>({
    read: async (cursor) => {
      const wanted = { ...query, cursor, limit: cursor === undefined ? FIRST : PAGE };
      const page = pageOf(await get<Answered<Bead>>(inCity(city, 'beads'), { query: wanted }));
      assignees.learn(page.items);
      return page;
    },
    id: ({ id }) => id,
    version: ({ revision = 0 }) => revision,
    matches: (bead) => matches(bead, filter, assignees),
    order: ORDERS[sort],
    schedule: onFrame,
  });
  let left = false;
  // Each name is asked for once: until a read succeeds, or nobody looks.
  const asking = againOf(list, (error) => left || isBarred(error));
  // Of more than are kept nobody here knows how many there are by now.
  const counting = new Again(
    async () => {
      try {
        const { total, total_is_estimate: least = false } = await get<Answered<Bead>>(inCity(city, 'beads'), {
          query: { ...query, limit: 1 },
        });
        list.count(total, least);
        return false;
      } catch (error) {
        return !left && !isBarred(error);
      }
    },
    undefined,
    () => COUNT_MS,
  );
  const event = ({ type, payload }: LoggedEvent): void => {
    left = false;
    if (!type.startsWith('bead.')) return;
    const { bead } = payload as { bead?: Bead };
    // What a client has recorded has no revision, and says nothing of what is there.
    if (bead?.id === undefined || bead.revision === undefined) return;
    if (list.snapshot().cut) counting.want();
    if (type === 'bead.deleted') list.remove(bead.id);
    else list.put(short ? rowOf(bead) : bead);
    if (type !== 'bead.deleted' && assignees.isUnknown(bead)) asking.want();
  };
  return { list, event, stop: () => void (left = true) };
}
