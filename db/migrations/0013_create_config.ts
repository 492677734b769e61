import { sql, type Kysely } from 'kysely';

/**
 * What a city is composed of: one row a distinct result, the state of the composing, and the one edit that may be
 * writing the city's files. The switches that people set at run time join the rows of what they switch.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table config_revisions (
      stream_id integer not null references event_streams (id),
      revision bigint not null,
      hash text not null,
      cause text not null check (cause in ('start', 'files', 'api', 'reload')),
      actor text not null,
      config text not null,
      origins text not null,
      answer text not null,
      warnings jsonb not null default '[]',
      changed jsonb not null default '[]',
      changed_total integer not null default 0,
      created_at timestamptz not null default now(),
      primary key (stream_id, revision)
    )`.execute(db);
  // Read whole and often: decompressing half a megabyte costs more than reading it.
  for (const column of ['config', 'origins', 'answer'])
    await sql`alter table config_revisions alter column ${sql.ref(column)} set storage external`.execute(db);
  // attempt: raised by whatever may have changed the files or the revision, so that a result composed before is not taken for the newest.
  await sql`
    create table config_states (
      stream_id integer primary key references event_streams (id),
      revision bigint not null default 0,
      attempt bigint not null default 0,
      last_edit text,
      rejected jsonb,
      keeper text
    )`.execute(db);
  await sql`
    create table config_edits (
      stream_id integer primary key references event_streams (id),
      id text not null,
      owner text not null,
      expires_at timestamptz not null,
      dir text not null,
      plan jsonb
    )`.execute(db);
  await sql`create index config_edits_expires_at_idx on config_edits (expires_at)`.execute(db);
  await sql`alter table rigs add column suspended boolean`.execute(db);
  await sql`alter table agents add column suspended boolean`.execute(db);
  // A bare name also means the only agent of that name in the rig, or in the city itself, whatever import brought it.
  await sql`
    create or replace function agent_address(p_stream integer, p_text text, p_rig text default '') returns text
    language sql stable as $$
      select coalesce(
        (select a.name from agents a where a.stream_id = p_stream and a.present and a.name = p_text),
        (select a.name from agents a where a.stream_id = p_stream and a.present and p_rig <> '' and a.name = p_rig || '/' || p_text),
        (select min(a.name) from agents a
          where a.stream_id = p_stream and a.present and a.base = p_text and a.rig = p_rig having count(*) = 1),
        (select min(a.name) from agents a where a.stream_id = p_stream and a.present and a.base = p_text having count(*) = 1))
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function agent_address(p_stream integer, p_text text, p_rig text default '') returns text
    language sql stable as $$
      select coalesce(
        (select a.name from agents a where a.stream_id = p_stream and a.present and a.name = p_text),
        (select a.name from agents a where a.stream_id = p_stream and a.present and p_rig <> '' and a.name = p_rig || '/' || p_text),
        (select min(a.name) from agents a where a.stream_id = p_stream and a.present and a.base = p_text having count(*) = 1))
    $$`.execute(db);
  await sql`alter table agents drop column suspended`.execute(db);
  await sql`alter table rigs drop column suspended`.execute(db);
  await sql`drop table config_edits, config_states, config_revisions`.execute(db);
}
