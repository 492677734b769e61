import { sql, type Kysely } from 'kysely';

/**
 * A replica of the release before that ended all secrets of a key but the new one left the earlier one in its row, where it was good again as soon as
 * the key was rotated once more.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function end_earlier_secret() returns trigger language plpgsql as $$
    begin
      new.earlier_hash := null;
      new.earlier_until := null;
      return new;
    end $$`.execute(db);
  await sql`
    create trigger api_keys_ended before update on api_keys for each row
      when (new.previous_hash is null and new.earlier_hash is not null) execute function end_earlier_secret()`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger api_keys_ended on api_keys`.execute(db);
  await sql`drop function end_earlier_secret`.execute(db);
}
