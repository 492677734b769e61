import { sql, type Kysely } from 'kysely';

/**
 * Keys end, change their secret and have rights finer than `read` and `write`. A key with some rights only is of scope `read`, which
 * is what the release before this takes it for; `write` stays every right.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column rights text[] not null default '{}',
      add column expires_at timestamptz,
      add column previous_hash bytea,
      add column previous_until timestamptz,
      add constraint api_keys_rights_check check (rights <@ array['operate', 'configure', 'commands'])`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      drop constraint api_keys_rights_check,
      drop column rights,
      drop column expires_at,
      drop column previous_hash,
      drop column previous_until`.execute(db);
}
