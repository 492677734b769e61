import { sql, type Kysely } from 'kysely';

/** When a named session's processes ended without a finished turn, and until when it is not started again for that. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add restarts timestamptz[] not null default '{}', add circuit_until timestamptz`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions drop circuit_until, drop restarts`.execute(db);
}
