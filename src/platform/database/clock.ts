import { sql, type Kysely } from 'kysely';
import type { Database } from './database.js';

/** The clock of the database, which all processes go by: what it says now, not what it said when the transaction began. */
export async function databaseTime(db: Kysely<Database>): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]!.now;
}
