import { sql, type Kysely } from 'kysely';

/**
 * Rotating a key again, as after an answer that was lost, ended the secret that everybody used within the time that it was promised. The one
 * before the one before has its own end. A replica of the release before leaves it as it is.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column earlier_hash bytea,
      add column earlier_until timestamptz`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      drop column earlier_hash,
      drop column earlier_until`.execute(db);
}
