import type { Guard } from './guard.js';

const CYCLES = 'src/modules/administration/maintenance/maintenance.db-spec.ts';
const ROWS = 'src/modules/administration/maintenance/cycles.repository.ts';

/** Cycles of maintenance. */
export const MAINTENANCE: readonly Guard[] = [
  {
    guard: 'A city has one cycle of maintenance at a time.',
    file: 'db/migrations/0053_create_maintenance.ts',
    find: 'create unique index maintenance_cycles_open_idx',
    replace: 'create index maintenance_cycles_open_idx',
    test: CYCLES,
    name: 'are one at a time in a city',
  },
  {
    guard: 'Only a lease that has run out gives a cycle away.',
    file: ROWS,
    find: "const LOST = sql`state = 'running' and lease_until < clock_timestamp()`",
    replace: "const LOST = sql`state = 'running'`",
    test: CYCLES,
    name: 'is left to a worker that has renewed its lease meanwhile',
  },
  {
    guard: 'What a worker does of a cycle under a lease that has run out does not count.',
    file: ROWS,
    find: "const HELD = sql`state = 'running' and lease_until >= clock_timestamp()`",
    replace: "const HELD = sql`state = 'running'`",
    test: CYCLES,
    name: 'is not gone on with by a worker that has come back too late',
  },
  {
    guard: 'Retention removes whole runs that nobody is at.',
    file: 'src/modules/orchestration/runs/run-retention.service.ts',
    find: "if (await this.#isWorkedOn(work, id)) return 'kept';",
    replace: '',
    test: CYCLES,
    name: 'takes whole runs away that ended long ago',
  },
  {
    guard: 'A run that is half gone is as old as it was: the next cycle goes on with it.',
    file: 'src/modules/orchestration/runs/run-retention.service.ts',
    find: 'await this.repository.setUpdatedAt(tx, streamId, id, run.updated_at);',
    replace: '',
    test: CYCLES,
    name: 'takes a long run away in steps',
  },
  {
    guard: 'Retention removes closed sessions whose time is over, and no others.',
    file: 'src/modules/sessions/sessions/session-deletions.repository.ts',
    find: "and closed_at < clock_timestamp() - ${olderMs} * interval '1 millisecond'",
    replace: 'and ${olderMs} > 0',
    test: CYCLES,
    name: 'takes sessions away that were closed long ago',
  },
  {
    guard: 'Tables that have grown are analyzed.',
    file: 'src/modules/administration/maintenance/store-look.ts',
    find: 'if (!signal.aborted) await this.repository.analyze(name);',
    replace: 'if (signal.aborted) await this.repository.analyze(name);',
    test: CYCLES,
    name: 'are analyzed soon when they have more than twice',
  },
  {
    guard: 'The tables are looked at once an hour for all cities.',
    file: 'src/modules/administration/maintenance/store.repository.ts',
    find: 'where l.look_at <= clock_timestamp()',
    replace: '',
    test: CYCLES,
    name: 'are looked at once an hour',
  },
  {
    guard: 'Only a disk that has become fuller is told.',
    file: 'src/modules/administration/maintenance/disk-watch.ts',
    find: 'if (RANK[found.level] > RANK[city.disk]) await',
    replace: 'await',
    test: 'src/modules/administration/maintenance/disk-watch.db-spec.ts',
    name: 'is told when it has become fuller',
  },
  {
    guard: "Archived mail is kept as long as its city's files say.",
    file: 'src/modules/work/mail/mail-retention.repository.ts',
    find: "coalesce(c.archive_ms * interval '1 millisecond', ${ARCHIVE_KEPT})",
    replace: '${ARCHIVE_KEPT}',
    test: 'src/modules/configuration/config/retention.db-spec.ts',
    name: 'says how long archived mail is kept',
  },
  {
    guard: "The history of orders is kept as long as its city's files say.",
    file: 'src/modules/orchestration/orders/order-history.repository.ts',
    find: 'coalesce(c.history_ms, ${usualMs}::bigint)',
    replace: '${usualMs}::bigint',
    test: 'src/modules/configuration/config/retention.db-spec.ts',
    name: 'says how long the history of orders is kept',
  },
  {
    guard: 'A pass archives all mail that is due, however much there is.',
    file: 'src/modules/work/mail/mail-retention.ts',
    find: 'inBatches(SWEEP_MESSAGES, () => this.sweep(city), signal)',
    replace: 'this.sweep(city)',
    test: 'src/modules/work/mail/mail-races.db-spec.ts',
    name: 'archives all that is due in one pass',
  },
];
