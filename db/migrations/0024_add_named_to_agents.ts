import { sql, type Kysely } from 'kysely';

/**
 * Whether the configuration gives a name to a session of its own. An agent and the named session that runs it may share their
 * name; a row that says only what kind of thing has the name cannot say that it is both.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table agents add named boolean not null default false`.execute(db);
  await sql`update agents set named = true where kind = 'named_session'`.execute(db);
  await sql`
    update agents a set named = true
    from config_states s
      join config_revisions r on r.stream_id = s.stream_id and r.revision = s.revision,
      jsonb_array_elements(r.config::jsonb -> 'named_sessions') n
    where a.stream_id = s.stream_id and a.present and a.name = n ->> 'qualified_name'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table agents drop named`.execute(db);
}
