import { sql, type Kysely } from 'kysely';

/** A table with fewer rows is planned well anyway, and one that is analyzed while it is empty is taken for empty until the next time. */
const MANY = 1_000;

/** To analyze what is large takes a while, as in 0122. */
export const alone = true;

/**
 * Where one convoy has nearly all edges, the planner took it for all that there is, and either index for as good as the other: for each bead of a list it read all
 * edges of the city (2.7 ms a bead, with 20,000 of them). From now on three edges are a bead's on average, however they are spread. The convoy itself is still known by
 * what is said of the most frequent; in a plan made for all of them it is taken for one with three, and its own edges are read by the same index. What leads to a bead stays as it
 * is counted: where all edges lead to one, the index of dependents was and is the one that is taken.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table bead_dependencies alter column issue_id set (n_distinct = -0.3)`.execute(db);
  // It counts from the next time on that the table is analyzed.
  const { rows } = await sql`select from pg_class where oid = 'bead_dependencies'::regclass and reltuples >= ${MANY}`.execute(db);
  if (rows.length > 0) await sql`analyze bead_dependencies (issue_id)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table bead_dependencies alter column issue_id reset (n_distinct)`.execute(db);
}
