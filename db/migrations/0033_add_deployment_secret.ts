import { sql, type Kysely } from 'kysely';

/**
 * What the replicas of a deployment share and nobody else knows: they tell with it the positions that they have handed out from
 * those that somebody made up. Two random UUIDs of the database's own, 244 bits; nothing for an operator to set.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table deployment add column secret bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table deployment drop column secret`.execute(db);
}
