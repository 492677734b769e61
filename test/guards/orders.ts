import type { Guard } from './guard.js';

const FIRINGS = 'src/modules/orders/firing.db-spec.ts';

/** Orders and their firings. */
export const ORDERS: readonly Guard[] = [
  {
    guard: 'An order has one firing open at a time.',
    file: 'db/migrations/0042_create_orders.ts',
    find: 'create unique index order_firings_open_idx',
    replace: 'create index order_firings_open_idx',
    test: FIRINGS,
    name: 'one firing open at a time',
  },
  {
    guard: 'A firing that was taken from a host is ended by the next one only.',
    file: 'src/modules/orders/firings.repository.ts',
    find: "sql`state <> 'done' and worker = ${worker}`",
    replace: "sql`state <> 'done'`",
    test: FIRINGS,
    name: 'goes to another host when it may be done twice',
  },
  {
    guard: 'Commands of cities are started inside the walls.',
    file: 'src/modules/launch/city-commands.ts',
    find: 'this.#carryOut({ ...spec, sandbox }, command, signal);',
    replace: 'this.#carryOut(spec, command, signal);',
    test: 'test/e2e/orders-walls.e2e-spec.ts',
  },
  {
    guard: 'Only a lease that has run out gives a firing away.',
    file: 'src/modules/orders/firings.repository.ts',
    find: "sql`state <> 'done' and worker is not null and lease_until < now()`",
    replace: "sql`state <> 'done' and worker is not null`",
    test: FIRINGS,
    name: 'is not taken from a host that has renewed its lease meanwhile',
  },
];
