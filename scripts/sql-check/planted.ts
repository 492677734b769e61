import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../../src/platform/database/database.js';

/** Statements with a fault each, which the check has to find, and some without any. */
export async function planted(db: Db, id: number, names: readonly string[], about: { live: boolean }): Promise<void> {
  await sql`select nam from cities`.execute(db);
  await sql<{ name: string; path: string }>`select name from cities`.execute(db);
  await sql<{ name: number }>`select name from cities`.execute(db);
  await sql<{ provider: string }>`select provider from cities`.execute(db);
  await sql<{ created_at: string }>`select created_at from cities`.execute(db);
  await sql<{ seqs: number[] }>`select seqs from event_cursors`.execute(db);
  await sql`select 1 from cities where name = any (${id})`.execute(db);
  await sql`update config_states set rejected = ${names}`.execute(db);
  await sql`select 1 from cities where running = ${'yes'}`.execute(db);
  await sql`select 1 from cities where ${about.live ? sql`running` : sql`runing`}`.execute(db);
  await sql`select 1 from cities c where ${named('d')} ${sql.join(names.map((name) => sql`and c.name <> ${name}`))}`.execute(db);
  const table = 'towns';
  await sql`select 1 from ${sql.table(table)}`.execute(db);
  await sql`select 1 from cities c where ${named('c')} and ${sql.ref('c.id')} = ${id}`.execute(db);
  await sql<{ name: string; at: Date; provider: string }>`
    select name, created_at as at, provider from cities where provider is not null and created_at > ${new Date()}`.execute(db);
  await sql`select 1 from sessions s join cities c on c.stream_id = s.stream_id`.execute(db);
  await sql`select 1 from sessions s join cities c on c.stream_id = s.stream_id where c.name = ${'alpha'}`.execute(db);
}

const named = (alias: string): RawBuilder<unknown> => sql`${sql.ref(`${alias}.name`)} <> ''`;
