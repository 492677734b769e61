import { sql, type Kysely } from 'kysely';

const COUNTED = 'claim_fence = b.claim_fence + t.fresh::integer,';
const BOTH = `${COUNTED} attempts = b.attempts + t.fresh::integer,`;

/** How often a bead has been claimed: its fence is raised by releases too. Beads that were claimed before this count from here. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('beads')
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await rewrite(db, COUNTED, BOTH);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await rewrite(db, BOTH, COUNTED);
  await db.schema.alterTable('beads').dropColumn('attempts').execute();
}

/** Changes one line of `claim_work` and leaves the rest as it is. @throws when the line is not there. */
async function rewrite(db: Kysely<unknown>, from: string, to: string): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef('claim_work(text,jsonb)'::regprocedure) as definition`.execute(db);
  const [head, tail, ...more] = rows[0]!.definition.split(from);
  if (tail === undefined || more.length > 0) throw new Error('claim_work does not count claims where it is expected to');
  await sql.raw(head! + to + tail).execute(db);
}
