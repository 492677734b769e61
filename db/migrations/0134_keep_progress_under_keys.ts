import { sql, type Kysely } from 'kysely';

/**
 * What spans transactions keeps beside its hold on the key how far it has come, in the transaction of each part. Whoever repeats the request
 * goes on behind that; before, a repeat began anew and did a second time what the first try had done.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table idempotency_holds add column body_hash bytea, add column progress json`.execute(db);
  await sql`comment on column idempotency_holds.body_hash is 'Of the request that holds the key, or held it last.'`.execute(db);
  await sql`comment on column idempotency_holds.progress is 'What the request has come to, as its holders say it. It stays a day after the hold has ended.'`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table idempotency_holds drop column body_hash, drop column progress`.execute(db);
}
