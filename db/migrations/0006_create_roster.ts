import { sql, type Kysely } from 'kysely';

/**
 * Who and what a running city consists of, as its files said when it came up: rigs with their id prefixes, and the
 * agents that work and mail can be addressed to. Rows belong to the city's stream and so outlive a registration; what the
 * files no longer name stays with `present = false`, because beads still speak of it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // The city itself is the rig ''.
  await sql`
    create table rigs (
      stream_id integer not null references event_streams (id),
      name text collate "C" not null,
      prefix text collate "C" not null check (prefix ~ '^[a-z][a-z0-9]*$'),
      position integer not null default 0,
      present boolean not null default true,
      primary key (stream_id, name)
    )`.execute(db);
  await sql`create unique index rigs_stream_id_prefix_key on rigs (stream_id, prefix) where present`.execute(db);
  await sql`
    create table agents (
      stream_id integer not null references event_streams (id),
      name text collate "C" not null,
      base text collate "C" not null,
      rig text collate "C" not null default '',
      kind text not null check (kind in ('agent', 'named_session')),
      present boolean not null default true,
      primary key (stream_id, name)
    )`.execute(db);
  await sql`create index agents_stream_id_base_idx on agents (stream_id, base) where present`.execute(db);
  // The canonical name of an agent: given in full, bare within p_rig, or bare and unique in the city. Null for anything else.
  await sql`
    create function agent_address(p_stream integer, p_text text, p_rig text default '') returns text
    language sql stable as $$
      select coalesce(
        (select a.name from agents a where a.stream_id = p_stream and a.present and a.name = p_text),
        (select a.name from agents a where a.stream_id = p_stream and a.present and p_rig <> '' and a.name = p_rig || '/' || p_text),
        (select min(a.name) from agents a where a.stream_id = p_stream and a.present and a.base = p_text having count(*) = 1))
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function agent_address(integer, text, text)`.execute(db);
  await db.schema.dropTable('agents').execute();
  await db.schema.dropTable('rigs').execute();
}
