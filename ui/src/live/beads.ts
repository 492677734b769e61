import { get, inCity } from '../api/client.js';
import type { Bead, LoggedEvent } from '../api/types.js';
import { ORDERS, type BeadSort } from '../lib/bead-order.js';
import { onFrame } from './frame.js';
import { LiveList, pageOf, type Answered } from './list.js';
import type { Made } from './use-list.js';

/** The first page is there to be seen, the others to be complete. */
const FIRST = 100;
const PAGE = 1000;

export interface BeadFilter {
  readonly status?: string;
  readonly type?: string;
  readonly label?: string;
  readonly assignee?: string;
  readonly priority?: string;
  readonly rig?: string;
  readonly text?: string;
}

/** Whether a bead is on the list that the service gives for a filter: the same conditions, on the bead itself. */
export function matches(bead: Bead, { status, type, label, assignee, priority, rig, text }: BeadFilter): boolean {
  if (status === undefined ? bead.status === 'closed' : status !== 'all' && bead.status !== status) return false;
  if (type !== undefined && bead.issue_type !== type) return false;
  if (label !== undefined && bead.labels?.includes(label) !== true) return false;
  if (assignee !== undefined && bead.assignee !== assignee) return false;
  if (priority !== undefined && String(bead.priority) !== priority) return false;
  if (rig !== undefined && bead.rig !== rig) return false;
  if (text === undefined) return true;
  const words = text.toLowerCase();
  return bead.title.toLowerCase().includes(words) || (bead.description ?? '').toLowerCase().includes(words);
}

export function beadsOf(city: string, filter: BeadFilter, sort: BeadSort = 'created_at'): Made<Bead> {
  const { status, ...rest } = filter;
  const query = { ...rest, ...(status === 'all' ? { all: true } : { status }), ...(sort === 'created_at' ? {} : { sort }) };
  const list = new LiveList<Bead>({
    read: async (cursor) => {
      const wanted = { ...query, cursor, limit: cursor === undefined ? FIRST : PAGE };
      return pageOf(await get<Answered<Bead>>(inCity(city, 'beads'), { query: wanted }));
    },
    id: ({ id }) => id,
    version: ({ revision = 0 }) => revision,
    matches: (bead) => matches(bead, filter),
    order: ORDERS[sort],
    schedule: onFrame,
  });
  const event = ({ type, payload }: LoggedEvent): void => {
    if (!type.startsWith('bead.')) return;
    const { bead } = payload as { bead?: Bead };
    // What a client has recorded has no revision, and says nothing of what is there.
    if (bead?.id === undefined || bead.revision === undefined) return;
    if (type === 'bead.deleted') list.remove(bead.id);
    else list.put(bead);
  };
  return { list, event };
}
