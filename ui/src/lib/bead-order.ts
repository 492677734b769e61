import type { Bead } from '../api/types.js';

type Ordered = Pick<Bead, 'id' | 'created_at' | 'updated_at' | 'priority'>;

/** As the service orders them: made last first, changed last first, or most urgent first. */
export type BeadSort = 'created_at' | 'updated_at' | 'priority';

export const sortOf = (sort: string | undefined): BeadSort => (sort === 'updated_at' || sort === 'priority' ? sort : 'created_at');

const lastFirst = (a: Ordered, b: Ordered, at: string, other: string): number =>
  at === other ? (a.id < b.id ? 1 : -1) : at < other ? 1 : -1;

export const ORDERS: Readonly<Record<BeadSort, (a: Ordered, b: Ordered) => number>> = {
  created_at: (a, b) => lastFirst(a, b, a.created_at, b.created_at),
  updated_at: (a, b) => lastFirst(a, b, a.updated_at ?? a.created_at, b.updated_at ?? b.created_at),
  // Nobody has said how urgent it is: then it is a 2. Among equals the oldest is first.
  priority: (a, b) => (a.priority ?? 2) - (b.priority ?? 2) || -ORDERS.created_at(a, b),
};
