import { sql, type Kysely } from 'kysely';

/** Beads, sessions and messages are found by their names and the beginnings of words. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function search_words(p_names text[], p_text text) returns tsvector
    language plpgsql immutable parallel safe as $$
    begin
      return array_to_tsvector(string_to_array('=' || lower(array_to_string(p_names, e'\\n=')), e'\\n'))
        || to_tsvector('simple', translate(left(p_text, 1000), './\\:@_-#', '        '));
    end $$`.execute(db);
  await sql`create index beads_words_idx on beads using gin (search_words(array[id], title))`.execute(db);
  await sql`
    create index sessions_words_idx on sessions using gin (search_words(array[id, alias, session_name], alias || ' ' || title)) where state <> 'closed'`.execute(
    db,
  );
  await sql`create index messages_words_idx on messages using gin (search_words(array[id], subject)) where archived_at is null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const table of ['messages', 'sessions', 'beads']) await sql`drop index ${sql.ref(`${table}_words_idx`)}`.execute(db);
  await sql`drop function search_words(text[], text)`.execute(db);
}
