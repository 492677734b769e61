import { sql, type Kysely } from 'kysely';

const INDEXES = ['beads_terms_idx', 'beads_words_idx', 'messages_words_idx', 'sessions_words_idx'];

/**
 * What is new of a GIN index waits in a list that each search reads to its end, 4 MB by default: 2 ms of the database for each session that a look at
 * a city's pools asks for what it holds, or all rows read where the planner finds that cheaper (167 ms of 30,000 beads). And whoever fills the
 * list takes all of it into the index, up to 117 ms inside of a transaction that makes a bead. With 64 kB, the least there may be, a search takes what it takes
 * without any list, and 30,000 beads one by one took 124 to 135 µs each (129 to 136 before), the slowest 13 and 20 ms.
 *
 * The setting comes last: from then on until the end of the transaction nobody reads or writes these tables.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const index of INDEXES) await sql`select gin_clean_pending_list(${index}::regclass)`.execute(db);
  for (const index of INDEXES) await sql`alter index ${sql.ref(index)} set (gin_pending_list_limit = 64)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const index of INDEXES) await sql`alter index ${sql.ref(index)} reset (gin_pending_list_limit)`.execute(db);
}
