import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

/** What a city has in the store. Bytes are its share of each table, by rows: nothing counts bytes row by row. */
export interface Size {
  readonly rows: number;
  readonly bytes: number;
  readonly events: number;
  readonly closedSessions: number;
}

/** How a table is, as the database keeps account of it. */
export interface TableState {
  readonly name: string;
  readonly live: number;
  readonly dead: number;
  readonly changed: number;
  readonly vacuumed: Date | null;
  /** Its statistics are behind what has changed. */
  readonly stale: boolean;
}

/** Of what has changed since a table was analyzed; the database does it at half as much by itself. */
const STALE_SHARE = 0.2;
const STALE_ROWS = 1_000;
/**
 * What a connection has planned for good while a table had one page reads that table from its beginning to its end, until the table is
 * analyzed. The database looks once a minute whether one has grown, which at a thousand rows a second is 60,000 rows too late. A table that
 * has so many rows is read by its indexes, whoever plans.
 */
const PLANNED_WELL = 100_000;
const GROWN_ROWS = 1_000;
const OUTGROWN = sql`select c.relname as name from pg_class c
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.reltuples < ${sql.lit(PLANNED_WELL)}
    and pg_stat_get_live_tuples(c.oid) > ${sql.lit(GROWN_ROWS)} + 2 * greatest(c.reltuples, 0) and pg_has_role(c.relowner, 'usage')`;
/** Sessions whose entries one look goes through. */
const SPAN = 5_000;

/** The SQL about how large things are, and about tables as a whole. */
@Injectable()
export class StoreRepository {
  constructor(private readonly db: Db) {}

  /** Nobody has looked at the tables for as long as was said then. */
  readonly isDue = sql<boolean>`not exists (select from store_looks where look_at > clock_timestamp())`;

  /** A table has more than twice the rows that it was analyzed with. */
  readonly hasOutgrown = sql<boolean>`exists (${OUTGROWN})`;

  async outgrown(): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`${OUTGROWN} order by 1`.execute(this.db);
    return rows.map(({ name }) => name);
  }

  /** Counted over indexes alone; a million beads take some 100 ms. */
  async size(streamId: number): Promise<Size> {
    const { rows } = await sql<Size>`
      with own (name, rows) as (
        select 'events', log_distance(epoch_ends, floor, head) from event_streams where id = ${streamId}
        union all select 'beads', count(*) from beads where stream_id = ${streamId}
        union all select 'bead_dependencies', count(*) from bead_dependencies where stream_id = ${streamId}
        union all select 'messages', count(*) from messages where stream_id = ${streamId}
        union all select 'sessions', count(*) from sessions where stream_id = ${streamId}
        union all select 'session_entries', coalesce(sum(l.entries), 0)::bigint
          from sessions s join session_logs l on l.session_pk = s.pk where s.stream_id = ${streamId}
        union all select 'session_turns', count(*) from session_turns where stream_id = ${streamId} and ended_at is not null
        union all select 'runs', count(*) from runs where stream_id = ${streamId}
        union all select 'run_steps', count(*) from run_steps where stream_id = ${streamId}
        union all select 'order_firings', count(*) from order_firings where stream_id = ${streamId}
        union all select 'webhook_deliveries', count(*) from webhook_deliveries where stream_id = ${streamId}
        union all select 'config_revisions', count(*) from config_revisions where stream_id = ${streamId}
      )
      select sum(o.rows)::bigint as rows,
        floor(sum(t.bytes * (o.rows / greatest(t.rows, o.rows, 1))))::bigint as bytes,
        max(o.rows) filter (where o.name = 'events') as events,
        (select count(*) from sessions where stream_id = ${streamId} and state = 'closed') as "closedSessions"
      from own o cross join lateral (
        select sum(pg_total_relation_size(c.oid)) as bytes, sum(greatest(c.reltuples::float8, 0)) as rows from pg_class c
        where c.oid = o.name::regclass or c.oid in (select relid from pg_partition_tree(o.name::regclass))) t`.execute(this.db);
    return rows[0]!;
  }

  /** True for the one who may look at the tables now: one in an hour does, of all replicas. */
  async take(everyMs: number): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into store_looks as l (look_at) values (clock_timestamp() + ${everyMs} * interval '1 millisecond')
      on conflict (only_one) do update set look_at = excluded.look_at where l.look_at <= clock_timestamp()`.execute(this.db);
    return numAffectedRows === 1n;
  }

  async warnings(): Promise<readonly string[]> {
    const { rows } = await sql<{ warnings: string[] }>`select warnings from store_looks`.execute(this.db);
    return rows[0]?.warnings ?? [];
  }

  async tell(warnings: readonly string[], entriesSeen: number): Promise<void> {
    await sql`
      update store_looks set looked_at = clock_timestamp(), entries_seen = ${entriesSeen}, warnings = ${JSON.stringify(warnings)}::jsonb`.execute(
      this.db,
    );
  }

  async tables(): Promise<TableState[]> {
    const { rows } = await sql<TableState>`
      select relname as name, n_live_tup as live, n_dead_tup as dead, n_mod_since_analyze as changed,
        greatest(last_vacuum, last_autovacuum) as vacuumed,
        n_mod_since_analyze > ${STALE_ROWS} + ${STALE_SHARE}::float8 * n_live_tup as stale
      from pg_stat_user_tables where schemaname = current_schema() order by relname`.execute(this.db);
    return rows;
  }

  /** Waits for nobody: what somebody else works on is left out. */
  async analyze(table: string): Promise<void> {
    await sql`analyze (skip_locked) ${sql.table(table)}`.execute(this.db);
  }

  /** Forgets what runners were told to do with sessions and have done long ago. Answers how much. */
  async dropCommands(days: number, limit: number): Promise<number> {
    const { numAffectedRows } = await sql`
      delete from session_commands where pk in (
        select pk from session_commands where status in ('done', 'failed') and ended_at < now() - ${days} * interval '1 day' limit ${limit})`.execute(
      this.db,
    );
    return Number(numAffectedRows ?? 0n);
  }

  /**
   * Removes what was said in sessions that are gone: a last word may come while a session is deleted. Goes through some sessions at a
   * time, from where the look before has ended. Answers where this one has, from the beginning again at the end.
   *
   * @param most entries that it removes: when it has, more of these sessions may be left
   */
  async dropOrphans(most: number): Promise<{ seen: number; dropped: number }> {
    const { rows } = await sql<{ seen: number; dropped: number }>`
      with recursive at as (select entries_seen as pk from store_looks), walk (pk, n) as (
        (select e.session_pk, 1 from session_entries e where e.session_pk > (select pk from at) order by e.session_pk limit 1)
        union all
        select (select e.session_pk from session_entries e where e.session_pk > w.pk order by e.session_pk limit 1), w.n + 1
        from walk w where w.pk is not null and w.n < ${SPAN}
      ), gone as (
        delete from session_entries e using (
          select o.session_pk, o.seq from walk w join session_entries o on o.session_pk = w.pk
          where not exists (select from sessions s where s.pk = w.pk) limit ${most}) f
        where e.session_pk = f.session_pk and e.seq = f.seq
        returning 1
      )
      select case when count(pk) = ${SPAN} then max(pk) else 0 end as seen, (select count(*) from gone) as dropped from walk`.execute(
      this.db,
    );
    return rows[0]!;
  }
}
