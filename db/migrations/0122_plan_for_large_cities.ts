import { sql, type Kysely } from 'kysely';

/** What a city may have many of. */
const TABLES = [
  ...[
    'agents',
    'rigs',
    'rig_provisions',
    'config_revisions',
    'sessions',
    'session_names',
    'session_interactions',
    'session_messages',
    'session_turns',
  ],
  ...[
    'beads',
    'bead_counters',
    'bead_dependencies',
    'bead_fan_outs',
    'messages',
    'mail_broadcasts',
    'sling_batches',
    'sling_batch_results',
  ],
  ...['runs', 'run_checks', 'run_controls', 'run_counts', 'run_steps', 'run_units', 'orders', 'order_firings', 'webhook_deliveries'],
  ...['extmsg_adapters', 'extmsg_bindings', 'extmsg_conversations', 'extmsg_deliveries', 'extmsg_groups', 'extmsg_memberships'],
  ...['extmsg_participants', 'maintenance_cycles', 'services'],
];
/** A table with fewer rows is planned well anyway, and one that is analyzed while it is empty is taken for empty until the next time. */
const MANY = 1_000;

/** What stands before it holds indexes that everybody uses until it commits, and to analyze what is large takes a while. */
export const alone = true;

/**
 * A plan that is made once for all cities takes each of them for the average. With three thousand of them, of which one has nearly all beads, that is a
 * handful: to find a bead by its id it read all of its city (6,700 rows for each claim, 12 ms for each bead of 300,000 that was changed). From now on each city is taken
 * for one that has a hundredth of everything: so much that nobody reads all of it for a few rows, and too little to read a whole table for it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const name of TABLES) await sql`alter table ${sql.ref(name)} alter column stream_id set (n_distinct = 100)`.execute(db);
  // It counts from the next time on that a table is analyzed.
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class where oid = any(${TABLES}::text[]::regclass[]) and reltuples >= ${MANY} order by 1`.execute(db);
  for (const { name } of rows) await sql`analyze ${sql.ref(name)} (stream_id)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const name of TABLES) await sql`alter table ${sql.ref(name)} alter column stream_id reset (n_distinct)`.execute(db);
}
