import type pg from 'pg';
import { createDb, createPool } from '../../../src/platform/database/database.js';
import { Transactions } from '../../../src/platform/database/transactions.js';
import { EventPartitions } from '../../../src/platform/event-log/partitions.js';
import { Failpoints } from '../../../src/platform/failpoints/failpoints.js';
import { cityName, withClient, type BenchPostgres } from '../../lib/database.js';

/** How much a database holds. */
export interface Amount {
  readonly name: string;
  readonly cities: number;
  readonly events: number;
  readonly beads: number;
  readonly entries: number;
  /** Partitions of the log by time; 0 is one table, as it is where nothing is ever dropped. */
  readonly parts: number;
}

export const DAYS = 90;
const DAY_MS = 86_400_000;
/** Of the places of a period the first city has a fifth; of the rest each has fewer than the one before it, and one at the least. */
const PLACES = 10_000;
const LARGE = 0.2;
/** A session of the first city has as many of the entries, the others five hundred each. */
const LONG = 0.05;
const SHORT = 500;

/**
 * The places of a period, in an order by chance: whose an event (or a bead) is, the how manieth of it there, and how many it has of each
 * period. So numbers are without a gap, and events come in the order of their time, without sorting fifty million of them.
 */
const PLAN = `
  create table bench_places as
  with shares as (
    select s.id, s.name, row_number() over (order by s.name) as n from event_streams s where s.name like 'city-%'
  ), sized as (
    select id, case when n = 1 then round($1::int * $2::float8) else greatest(1, floor(w * $1::int * (1 - $2::float8) / sum(w) filter (where n > 1) over ())) end::int as per
    from (select *, 1 / n ^ 0.8 as w from shares) w
  ), laid as (
    select id, per, (row_number() over (order by md5(id || ':' || k)) - 1)::int as place from sized, generate_series(1, per) k
  )
  select place, id, per, (row_number() over (partition by id order by place))::int as nth from laid`;

/** What cities say of their work, about as often: of beads with all that they have, short words of steps, sessions and agents. */
const KINDS = `
  create table bench_kinds as
  select k.n, k.type, k.payload::jsonb as payload, octet_length(k.payload) as size
  from (select jsonb_build_object('id', 'b-17', 'title', 'write the report about part 17', 'status', 'open', 'issue_type', 'task', 'priority', 2,
    'assignee', 'polecat', 'labels', array['report'], 'metadata', jsonb_build_object('gc.routed_to', 'polecat'), 'created_at', '2026-11-01T00:00:00.000Z',
    'description', repeat('What was found in part 17 is to be written down, with its numbers. ', 3))::text as bead) b, lateral (values
    (0, 'bead.created', '{"bead": ' || b.bead || '}'), (1, 'bead.updated', '{"bead": ' || b.bead || '}'), (2, 'bead.closed', '{"bead": ' || b.bead || '}'),
    (3, 'bead.updated', '{"bead": ' || b.bead || '}'), (4, 'execution.step_started', '{}'), (5, 'execution.step_ended', '{"outcome": "done"}'),
    (6, 'session.woke', '{"session_id": "s-0000000012", "reason": "demand"}'), (7, 'session.idle', '{"session_id": "s-0000000012"}'),
    (8, 'note.added', '{"t": "0000000000000000", "text": "what was found in part 17, in words that are about as many as people use"}'),
    (9, 'note.added', '{"t": "0000000000000000", "text": "what is left of it"}'), (10, 'mail.sent', '{"id": "m-17", "to": "mayor", "subject": "Report 17"}'),
    (11, 'mail.read', '{"id": "m-17"}'), (12, 'order.fired', '{"order": "nightly", "firing": "f-17"}'), (13, 'session.turn_ended', '{"session_id": "s-0000000012", "turn": 17}'),
    (14, 'note.added', '{"t": "0000000000000000", "text": "a check has ended"}'), (15, 'agent.note', '{"t": "0000000000000000", "state": "at work"}')
  ) k(n, type, payload)`;

const EVENTS = `
  insert into %TABLE% (stream_id, seq, ts, type, actor, subject, payload, size, run_id)
  select p.id, (g / $1::bigint) * p.per + p.nth, $4::timestamptz + (g + 0.5) * $5::float8 * interval '1 second', k.type, 'agent-' || p.place % 7,
    'b-' || g % 100000, k.payload, 200 + k.size, case when k.n < 4 then 'b-' || g % 100000 end
  from generate_series($2::bigint, $3::bigint - 1) g
  join bench_places p on p.place = g % $1::bigint
  join bench_kinds k on k.n = (p.place + g / $1::bigint) % 16`;

/** A tenth has, or has had, the same assignee. Nine of ten that are old are closed; of the last tenth half are open, and a tenth of those wait for others. */
const BEADS = `
  insert into beads (stream_id, id, title, description, status, closed_at, priority, open_blockers, assignee, labels, metadata, created_at)
  select p.id, 'b-' || ((g / $1::int) * p.per + p.nth),
    (array['write', 'read', 'mend', 'check', 'ship'])[1 + g % 5] || ' the ' || (array['report', 'parser', 'login', 'index', 'guide'])[1 + g / 5 % 5] || ' of part ' || g,
    repeat('What was found is to be written down, with its numbers, and shown to whoever asked for it. ', 2),
    case when done then 'closed' when g % 10 = 9 then 'in_progress' else 'open' end, case when done then $3::timestamptz + g * $4::float8 * interval '1 second' end, g % 5,
    case when g % 10 = 7 and not done then 1 else 0 end, case when g % 10 = 9 then 'polecat' when g % 1000 = 5 then 'human' end, case when g % 500 = 3 then array['report', 'audit'] else array['report'] end,
    case when g % 10 = 5 then '{}'::jsonb else '{"gc.routed_to": "polecat"}' end, $3::timestamptz + g * $4::float8 * interval '1 second'
  from (select g, g < $2::int * 0.9 or g % 2 = 0 as done from generate_series(0, $2::int - 1) g) g
  join bench_places p on p.place = g % $1::int`;
const COUNTERS = `
  insert into bead_counters (stream_id, prefix, last)
  select stream_id, 'b', max(substr(id, 3)::bigint) from beads group by 1 on conflict (stream_id, prefix) do update set last = excluded.last`;

const SESSIONS = `
  insert into sessions (stream_id, id, session_name, title, kind, template, provider, origin, created_by, state, closed_at, created_at)
  select case when g = 0 then f.first else p.id end, 's-' || lpad(g::text, 10, '0'), 'polecat-' || g, 'part ' || g, 'provider', 'loopback', 'loopback', 'manual', 'bench',
    'closed', now(), now() - g * interval '1 minute'
  from generate_series(0, $1::int) g join bench_places p on p.place = g, (select id as first from event_streams where name = $2) f`;
const ENTRIES = `
  insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
  select s.pk, e, e, 'e-' || e, 1, 1, e / 10, 'message', case when e % 10 = 0 then 'user' else 'assistant' end, 'final',
    jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('What has been done, in words. ', 10)))
  from sessions s, generate_series(1, case when s.id = 's-0000000000' then $1::int else $2::int end) e`;
const LOGS = `
  insert into session_logs (session_pk, head, entries, generation, turns)
  select session_pk, max(seq), count(*), 1, count(*) / 10 from session_entries group by 1
  on conflict (session_pk) do update set head = excluded.head, entries = excluded.entries, turns = excluded.turns`;

/** Fills a database that has cities and nothing else. Events go into tables without indexes, which are made afterwards. */
export async function fill(postgres: BenchPostgres, amount: Amount, say: (text: string) => void): Promise<void> {
  const url = postgres.url(amount.name);
  await withClient(url, async (client) => {
    for (const setting of ["maintenance_work_mem = '1GB'", "work_mem = '256MB'", 'synchronous_commit = off'])
      await client.query(`set ${setting}`);
    await client.query(PLAN, [PLACES, LARGE]);
    await client.query(KINDS);
    const { rows } = await client.query<{ places: number }>('select count(*)::int as places from bench_places');
    const { places } = rows[0]!;
    const periods = Math.ceil(amount.events / places);
    await client.query('analyze bench_places, bench_kinds');
    const began = new Date(Date.now() - DAYS * DAY_MS);
    const tables = amount.parts === 0 ? ['events'] : await parted(url, began, amount.parts);
    await fillEvents(client, tables, { places, total: periods * places, began }, (table) => say(`${amount.name}: ${table}`));
    await client.query(
      `update event_streams s set head = p.n, last_ts = now() from (select id, count(*) * $1::bigint as n from bench_places group by 1) p where p.id = s.id`,
      [periods],
    );
    await indexedLater(client, 'beads', () => client.query(BEADS, [places, amount.beads, began, (DAYS * 86_400) / amount.beads]));
    await client.query(COUNTERS);
    say(`${amount.name}: ${amount.beads} beads`);
    const long = Math.max(SHORT, Math.round(amount.entries * LONG));
    await client.query(SESSIONS, [Math.floor((amount.entries - long) / SHORT), cityName(1)]);
    await client.query(ENTRIES, [long, SHORT]);
    await client.query(LOGS);
    await client.query('drop table bench_places, bench_kinds');
    await client.query('vacuum (analyze)');
    say(`${amount.name}: filled`);
  });
}

/** The log in parts of its time up to now, and two for what comes. Their names, the oldest first. */
async function parted(url: string, began: Date, parts: number): Promise<string[]> {
  const pool = createPool(url, { max: 1 });
  const db = createDb(pool);
  const partitions = new EventPartitions();
  const days = DAYS / parts;
  try {
    return await new Transactions(db, new Failpoints()).run(async (tx) => {
      await partitions.partition(tx);
      const at = (n: number): Date => new Date(began.getTime() + n * days * DAY_MS);
      for (let n = 0; n < parts + 2; n++) await partitions.add(tx, { from: at(n), to: at(n + 1) });
      return (await partitions.find(tx))!.partitions.slice(0, parts).map(({ name }) => name);
    });
  } finally {
    await db.destroy();
  }
}

async function fillEvents(
  client: pg.Client,
  tables: readonly string[],
  { places, total, began }: { readonly places: number; readonly total: number; readonly began: Date },
  done: (table: string) => void,
): Promise<void> {
  // An event is in the middle of its time, so that where a part does not begin with one, the one before may lie in it.
  const first = (n: number): number => Math.ceil((total * n) / tables.length - 0.5);
  for (const [n, table] of tables.entries()) {
    await indexedLater(client, table, () =>
      client.query(EVENTS.replace('%TABLE%', table), [places, first(n), first(n + 1), began, (DAYS * 86_400) / total]),
    );
    done(table);
  }
}

/** Fills a table without its indexes, which are made afterwards: they are as an index is that was made anew. */
async function indexedLater(client: pg.Client, table: string, work: () => Promise<unknown>): Promise<void> {
  const { rows: keys } = await client.query<{ name: string; definition: string }>(
    `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint c
     where conrelid = $1::regclass and contype in ('p', 'u') and not exists (select from pg_constraint f where f.confrelid = c.conrelid)`,
    [table],
  );
  for (const { name } of keys) await client.query(`alter table ${table} drop constraint ${name}`);
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i
     where i.indrelid = $1::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    [table],
  );
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  await work();
  for (const { name, definition } of keys) await client.query(`alter table ${table} add constraint ${name} ${definition}`);
  for (const { definition } of indexes) await client.query(definition);
}
