import { sql, type Kysely } from 'kysely';

/**
 * The work of a city. Every writer takes the city's work lock first (`begin_work`), so that what is derived from several
 * rows (blockers, readiness, convoys, cycles) is decided by one writer at a time; the stream's lock comes last, in
 * `append_events`. Rows belong to the city's stream: they outlive an unregistration as its events do.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // False when the city does not run. Advisory class 2; class 1 is the stream's own lock.
  await sql`
    create function begin_work(p_stream integer) returns boolean
    language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(2, p_stream);
      return exists (select from cities c where c.stream_id = p_stream and c.running);
    end $$`.execute(db);
  await sql`
    create table bead_counters (
      stream_id integer not null references event_streams (id),
      prefix text collate "C" not null,
      last bigint not null,
      primary key (stream_id, prefix)
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    create function next_bead_id(p_stream integer, p_rig text) returns text
    language sql as $$
      insert into bead_counters as c (stream_id, prefix, last)
      select r.stream_id, r.prefix, 1 from rigs r where r.stream_id = p_stream and r.name = p_rig and r.present
      on conflict (stream_id, prefix) do update set last = c.last + 1
      returning c.prefix || '-' || c.last
    $$`.execute(db);
  // workable: what may ever be offered as work, whatever its state. Generated columns call no function of SQL: it would be
  // parsed and planned anew by every statement that writes a bead, at more than the price of an index. No foreign key to the stream, as with `events`:
  // who writes has just locked it by its id, and the check would lock the row that every event of the city updates.
  await sql`
    create table beads (
      stream_id integer not null,
      id text collate "C" not null,
      rig text collate "C" not null default '',
      title text not null,
      status text not null default 'open' check (status in ('open', 'in_progress', 'closed')),
      issue_type text not null default 'task',
      priority smallint,
      assignee text,
      author text,
      parent text collate "C",
      ref text,
      description text,
      labels text[] not null default '{}',
      metadata jsonb not null default '{}',
      ephemeral boolean not null default false,
      no_history boolean not null default false,
      defer_until timestamptz,
      open_blockers integer not null default 0 check (open_blockers >= 0),
      revision bigint not null default 1,
      claim_fence bigint not null default 0,
      lease_ms integer,
      lease_until timestamptz,
      sling_source text collate "C",
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz,
      closed_at timestamptz,
      routed_to text generated always as (nullif(metadata ->> 'gc.routed_to', '')) stored,
      workable boolean not null generated always as (
        issue_type not in ('merge-request', 'gate', 'molecule', 'step', 'convoy', 'message', 'session', 'agent', 'role', 'rig')
        and not labels && array['gc:session', 'gc:order-tracking', 'order-tracking']) stored,
      primary key (stream_id, id),
      check ((closed_at is not null) = (status = 'closed')),
      check (lease_until is null or (status = 'in_progress' and assignee is not null))
    )`.execute(db);
  await sql`
    create table bead_dependencies (
      stream_id integer not null,
      issue_id text collate "C" not null,
      depends_on_id text collate "C" not null,
      type text not null,
      blocking boolean not null generated always as (type in ('blocks', 'waits-for', 'conditional-blocks')) stored,
      created_at timestamptz not null default clock_timestamp(),
      primary key (stream_id, issue_id, depends_on_id),
      foreign key (stream_id, issue_id) references beads (stream_id, id),
      foreign key (stream_id, depends_on_id) references beads (stream_id, id),
      check (issue_id <> depends_on_id)
    )`.execute(db);
  await sql`create index bead_dependencies_depends_on_idx on bead_dependencies (stream_id, depends_on_id, type)`.execute(db);

  // The one predicate of readiness: ready list, hooks, demand, sling and graph all ask it. Ownership and holds are not part of it.
  await sql`
    create function bead_is_ready(b beads) returns boolean
    language sql stable as $$
      select b.status = 'open' and b.workable and b.open_blockers = 0 and (b.defer_until is null or b.defer_until <= now())
    $$`.execute(db);
  // Labels and metadata of one city as numbers, for one index over both; a hit is checked again. In plpgsql, which keeps the
  // plan: as an index expression of language sql it was planned by every statement that wrote a bead, three times the cost of the write.
  await sql`
    create function bead_terms(p_stream integer, p_labels text[], p_metadata jsonb) returns bigint[]
    language plpgsql immutable parallel safe as $$
    begin
      return (
        select coalesce(array_agg(distinct hashtextextended(t, p_stream)), '{}') from (
          select 'l' || l as t from unnest(p_labels) l
          union all select 'm' || m.key || '=' || m.value from jsonb_each_text(p_metadata) m
        ) terms);
    end $$`.execute(db);
  // The JSON of a bead; in two, because a new bead has no dependencies that one would have to look for.
  await sql`
    create function bead_json(b beads, p_dependencies json) returns json
    language sql stable as $$
      select json_strip_nulls(json_build_object(
        'id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority, 'rig', nullif(b.rig, ''),
        'assignee', b.assignee, 'from', b.author, 'parent', b.parent, 'ref', b.ref, 'description', b.description,
        'labels', case when b.labels <> '{}' then b.labels end, 'metadata', case when b.metadata <> '{}' then b.metadata end,
        'dependencies', p_dependencies,
        'ephemeral', nullif(b.ephemeral, false), 'no_history', nullif(b.no_history, false), 'defer_until', b.defer_until,
        'is_blocked', b.open_blockers > 0, 'revision', b.revision,
        'created_at', b.created_at, 'updated_at', b.updated_at, 'closed_at', b.closed_at))
    $$`.execute(db);
  await sql`
    create function bead_json(b beads) returns json
    language sql stable as $$
      select bead_json(b, (
        select json_agg(json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type) order by d.depends_on_id)
        from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id))
    $$`.execute(db);

  await sql`create index beads_listed_idx on beads (stream_id, created_at desc, id desc)`.execute(db);
  await sql`create index beads_unclosed_idx on beads (stream_id, created_at desc, id desc) where status <> 'closed'`.execute(db);
  // Convoys, waits and whatever else is few among many tasks. Every index costs each bead that is made, also those it does not hold.
  await sql`
    create index beads_kind_idx on beads (stream_id, issue_type, created_at desc, id desc) include (status, rig)
    where issue_type <> 'task'`.execute(db);
  await sql`
    create index beads_ready_idx on beads (stream_id, coalesce(priority, 2), created_at, id)
    where status = 'open' and workable and open_blockers = 0`.execute(db);
  await sql`
    create index beads_routed_idx on beads (stream_id, routed_to, created_at, id)
    where status = 'open' and workable and open_blockers = 0 and assignee is null and routed_to is not null`.execute(db);
  await sql`create index beads_assignee_idx on beads (stream_id, assignee, created_at desc, id desc) where assignee is not null`.execute(
    db,
  );
  await sql`create index beads_parent_idx on beads (stream_id, parent) where parent is not null`.execute(db);
  await sql`create index beads_lease_until_idx on beads (lease_until) where lease_until is not null`.execute(db);
  await sql`
    create unique index beads_sling_source_key on beads (stream_id, sling_source) where sling_source is not null and status <> 'closed'`.execute(
    db,
  );
  await sql`
    create index beads_terms_idx on beads using gin (bead_terms(stream_id, labels, metadata))
    where labels <> '{}' or metadata <> '{}'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function bead_json(beads), bead_json(beads, json)`.execute(db);
  await sql`drop function bead_is_ready(beads)`.execute(db);
  await db.schema.dropTable('bead_dependencies').execute();
  await db.schema.dropTable('beads').execute();
  await db.schema.dropTable('bead_counters').execute();
  for (const f of ['bead_terms(integer, text[], jsonb)', 'next_bead_id(integer, text)', 'begin_work(integer)'])
    await sql`drop function ${sql.raw(f)}`.execute(db);
}
