import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db, followLog, PgPool, type Epoch } from '../database/database.js';
import { fitted, fitting, type Fitted } from '../database/page-bytes.js';
import { soonest } from '../database/soonest.js';
import type { EpochEnds } from '../event-log/epochs.js';
import type { EarlierJoins } from '../event-log/joins.js';
import { wireBytes, wireCity, wireText } from '../event-log/wire.js';
import { PositionSeal } from './position-seal.js';
import { SharedRead } from './shared-read.js';

/** What the hub has to know about a stream. */
export interface StreamRow {
  readonly id: number;
  readonly name: string;
  readonly head: number;
  readonly floor: number;
  readonly active: boolean;
  readonly joined_seq: number;
  readonly joined_supervisor_seq: number;
  readonly earlier: EarlierJoins;
  readonly ends: EpochEnds;
  /** Of the epoch that the log is in. */
  readonly epoch_id: string;
}

/** An event as the streams carry it: its JSON without the closing brace, the city it is tagged with, and the stream that it is in. */
export interface WireRow {
  readonly sid: number;
  readonly seq: number;
  readonly type: string;
  readonly city: string;
  readonly stream: string;
  readonly text: string;
}

/** What a query returned, and whether there was more than one read may hold. */
export interface Read {
  readonly rows: readonly WireRow[];
  readonly more: boolean;
}

/** Which events a query may return: up to `upto` (inclusive) after `after`, a stream. */
export interface Range {
  readonly streamId: number;
  readonly after: number;
  readonly upto: number;
}

/** So few events are read without a size limit. */
const FEW = 4;
/** Retention of a chain from its beginning. Ids count from a chain that is younger than an hour, so each is good for a day. */
const CURSORS_KEPT = '25 hours';
/** Chains that one statement drops: each may have a row of all cities, and 64 rows of some. */
const PURGED_AT_ONCE = 100;
/** Streams that moved within this time are re-read by the poll; it must exceed the longest transaction. */
const RECENT = '60 seconds';

const ORDER = sql`ts, stream_id, seq`;

/**
 * Events of ranges ($1 to $3), at most $4 a stream, each with its `columns`. The planner sees neither the ranges nor the limit. If it saw the ranges, a plan for
 * the given ones would look cheaper than the one that the connection keeps, and each read would be planned anew: a tenth of catching up.
 */
function ofRanges(columns: RawBuilder<unknown>, typed: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select ${columns}, ${wireCity()} as city, s.name as stream
    from unnest((select $1::int[]), (select $2::bigint[]), (select $3::bigint[])) as w(id, after, upto)
    join event_streams s on s.id = w.id
    join lateral (
      select * from events where stream_id = w.id and seq > w.after and seq <= w.upto ${typed} order by seq limit ${soonest(sql`$4`)}
    ) e on true`;
}

/** A read without a size limit. Computing sizes would cost a third of a read of one event, which most reads are. */
function few(): RawBuilder<unknown> {
  return sql`${ofRanges(sql`e.stream_id as sid, e.seq, e.type, ${wireText({ workflow: true })} as text`, sql``)} order by e.ts, e.stream_id, e.seq`;
}

/** A read of at most $5 bytes together. Only events that fit are made into text. */
function tail(typed: RawBuilder<unknown>): RawBuilder<unknown> {
  const found = ofRanges(sql`e.*, ${wireBytes()} as bytes`, typed);
  const room = { rows: sql.lit(Number.MAX_SAFE_INTEGER), bytes: sql<number>`$5::bigint`, first: sql.lit(true) };
  return sql`
    select e.stream_id as sid, e.seq, e.type, e.city, e.stream, e.fits, case when e.fits then ${wireText({ workflow: true })} end as text
    from (${fitting(found, ORDER, room)}) e
    order by ${ORDER}`;
}

/** All SQL of the streams room: it only reads `event_streams` and `events`, and keeps `event_cursors`. */
@Injectable()
export class StreamLogRepository {
  readonly #few: string;
  #seal: Promise<PositionSeal> | undefined;
  readonly #tail: string;
  readonly #ofTypes: string;
  readonly #byId = new SharedRead<StreamRow>((ids) => this.#streams('streams-by-id', 'where id = any($1::int[])', [ids]));

  constructor(
    private readonly db: Db,
    private readonly pool: PgPool,
  ) {
    const compile = (query: RawBuilder<unknown>): string => query.compile(this.db).sql;
    this.#few = compile(few());
    this.#tail = compile(tail(sql``));
    this.#ofTypes = compile(tail(sql`and type = any($6::text[])`));
  }

  /**
   * Events of each range, at most `limit` a stream, ordered by time across streams and by seq within one. They end early once
   * they have this many bytes together; one is always among them.
   */
  async read(ranges: readonly Range[], limit: number, bytes: number, types?: readonly string[]): Promise<Read> {
    const values: unknown[] = [ranges.map((r) => r.streamId), ranges.map((r) => r.after), ranges.map((r) => r.upto), limit, bytes];
    if (types === undefined && ranges.length * limit <= FEW) {
      const rows = await this.pool.query<WireRow>({ name: 'stream-few', text: this.#few, values: values.slice(0, 4) });
      return { rows: rows.rows, more: false };
    }
    const query =
      types === undefined
        ? { name: 'stream-tail', text: this.#tail, values }
        : { name: 'stream-tail-typed', text: this.#ofTypes, values: [...values, types] };
    return fitted((await this.pool.query<WireRow & Fitted>(query)).rows);
  }

  /** Every stream of the feed. */
  async active(): Promise<StreamRow[]> {
    return this.#streams('streams-active', 'where active', []);
  }

  /**
   * Streams that moved lately or joined since the supervisor's stream was at `supervisorSeq`, inactive ones included. All of them when
   * the log is not in the epoch with this id any more.
   */
  async recent(supervisorSeq: number, epochId: string | undefined): Promise<StreamRow[]> {
    const where = `where last_ts > now() - interval '${RECENT}' or joined_supervisor_seq >= $1 or (select d.epoch_id <> $2 from deployment d)`;
    return this.#streams('streams-recent', where, [supervisorSeq, epochId]);
  }

  /** Streams that joined the feed after this event of the supervisor's stream. */
  async joinedSince(supervisorSeq: number): Promise<StreamRow[]> {
    return this.#streams('streams-joined', 'where joined_supervisor_seq >= $1', [supervisorSeq]);
  }

  /** As `joinedSince`, but streams that have left the feed, up to `limit` of them; with `cities`, only those of these names. */
  async leftSince(supervisorSeq: number, limit: number, cities?: readonly string[]): Promise<StreamRow[]> {
    const where = 'where not active and joined_supervisor_seq >= $1 and ($2::text[] is null or name = any($2::text[])) limit $3';
    return this.#streams('streams-left', where, [supervisorSeq, cities ?? null, limit]);
  }

  async byName(names: readonly string[]): Promise<StreamRow[]> {
    return this.#streams('streams-by-name', 'where name = any($1::text[])', [names]);
  }

  /** Concurrent calls share a statement: a thousand clients that reconnect at once ask for the floors together. */
  async byId(ids: readonly number[]): Promise<StreamRow[]> {
    return this.#byId.read(ids);
  }

  /**
   * Notes the epoch that the log is in. If this process has seen a later one, or another one of that number, the log has lost events, and the next epoch is begun
   * here: connections through a pooler do not check that when they are made.
   */
  async sawEpoch(seen: Epoch): Promise<void> {
    if (!this.pool.sawEpoch(seen)) await followLog(this.pool, this.pool);
  }

  async #streams(name: string, where: string, values: unknown[]): Promise<StreamRow[]> {
    const text = `select id, name, head, floor, active, joined_seq, joined_supervisor_seq, earlier_joins::float8[] as earlier, epoch_ends::float8[] as ends,
        (select d.epoch_id from deployment d) as epoch_id
      from event_streams ${where}`;
    return (await this.pool.query<StreamRow>({ name, text, values })).rows;
  }

  /** The seal by which replicas recognize positions that one of them has handed out. Read once: a deployment's secret never changes. */
  seal(): Promise<PositionSeal> {
    this.#seal ??= this.pool
      .query<{ secret: Buffer }>({ name: 'deployment-secret', text: 'select secret from deployment' })
      .then(({ rows }) => new PositionSeal(rows[0]!.secret))
      .catch((error: unknown) => {
        this.#seal = undefined;
        throw error;
      });
    return this.#seal;
  }

  /** Stores positions (all of them for a root, the changed ones for a step of a chain) and returns the row's id. */
  async insertCursor(root: number | undefined, positions: ReadonlyMap<number, number>): Promise<number> {
    const { rows } = await this.pool.query<{ id: number }>({
      name: 'cursor-insert',
      text: 'insert into event_cursors (root_id, stream_ids, seqs) values ($1, $2, $3) returning id',
      values: [root ?? null, [...positions.keys()], [...positions.values()]],
    });
    return rows[0]!.id;
  }

  /** The chain of rows from a root up to `id`, oldest first, with the age of each; empty when the cursor is not kept any more. */
  async cursorChain(id: number): Promise<{ stream_ids: number[]; seqs: number[]; age_ms: number }[]> {
    const { rows } = await this.pool.query<{ stream_ids: number[]; seqs: string[]; age_ms: number }>({
      name: 'cursor-chain',
      text: `with wanted as (
          select r.id as root from event_cursors c join event_cursors r on r.id = coalesce(c.root_id, c.id) where c.id = $1
        )
        select c.stream_ids, c.seqs, (extract(epoch from now() - c.created_at) * 1000)::float8 as age_ms from event_cursors c, wanted w
        where c.id <= $1 and (c.id = w.root or c.root_id = w.root) order by c.id`,
      values: [id],
    });
    return rows.map((r) => ({ ...r, seqs: r.seqs.map(Number) }));
  }

  /**
   * Drops chains of stored cursors that began more than a day ago, up to `limit` at once, and says how many. A chain goes as a whole: one without its root
   * would name some streams only, and who resumes there would be taken to the heads of the others. Chains that another replica is dropping are left to it.
   */
  async purgeCursors(limit = PURGED_AT_ONCE): Promise<number> {
    const { rows } = await this.pool.query<{ n: number }>(
      `with roots as (
          delete from event_cursors where id in (
            select id from event_cursors where root_id is null and created_at < now() - interval '${CURSORS_KEPT}'
            order by created_at limit $1 for update skip locked
          ) returning id
        ), steps as (
          delete from event_cursors where root_id in (select id from roots)
        )
        select count(*)::int as n from roots`,
      [limit],
    );
    return rows[0]!.n;
  }

  /** Drops steps that were stored when their chain had been dropped: nothing counts from them. */
  async purgeSteps(limit = PURGED_AT_ONCE): Promise<number> {
    const { rowCount } = await this.pool.query(
      `delete from event_cursors where id in (
          select c.id from event_cursors c
          where c.created_at < now() - interval '${CURSORS_KEPT}' and c.root_id is not null
            and not exists (select from event_cursors r where r.id = c.root_id)
          order by c.created_at limit $1 for update of c skip locked
        )`,
      [limit],
    );
    return rowCount ?? 0;
  }
}
