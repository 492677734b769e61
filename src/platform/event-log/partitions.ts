import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { databaseTime } from '../database/clock.js';
import type { Tx } from '../database/transactions.js';

export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/** A part of the log by time, from `from` up to and without `to`. */
export interface Partition extends Span {
  readonly name: string;
}

export interface PartedLog {
  /** The oldest first. */
  readonly partitions: readonly Partition[];
  /** Bytes of the rest, indexes not included. */
  readonly restBytes: number;
  /** Somebody keeps a span free in the rest, or has not come to an end with it. */
  readonly keepsFree: boolean;
  /** Parts that are not the log's any more and still there. */
  readonly detached: readonly string[];
}

/** Where events are that no part is for: those from before the log had parts, and what comes at a time that nobody has made one for. */
export const REST = 'events_rest';
const FREE = 'events_rest_free_check';
/** One at a time changes the parts, of all processes. */
const TURN = 7_305_441_824;
/** How long everybody who reads or writes the log waits behind one who waits for those before him. */
const LOCK_MS = 200;

const literal = (at: Date): RawBuilder<unknown> => sql.lit(at.toISOString());
const named = (from: Date): string => `events_${from.toISOString().replaceAll(/\D/g, '').slice(0, 12)}`;
const BOUNDS = "FROM \\('([^']+)'\\) TO \\('([^']+)'\\)";
const PART_NAME = '^events_[0-9]{12}(_rest)?$';

/** The log as a table of parts by time, so that what is old goes as files and not as rows: all of the SQL that makes and drops parts. */
@Injectable()
export class EventPartitions {
  /** Undefined for a log of one table, as it is until something of it is to go. */
  async find(tx: Tx): Promise<PartedLog | undefined> {
    const { rows: all } = await sql<{ name: string; parted: boolean; from: Date | null; to: Date | null; own: boolean; bytes: number }>`
      select c.relname as name, c.relkind = 'p' as parted, c.relispartition as own, pg_relation_size(c.oid) as bytes, b.bounds[1]::timestamptz as "from", b.bounds[2]::timestamptz as "to"
      from pg_class c left join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), ${BOUNDS}) b(bounds) on true
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and (c.relname in ('events', ${REST}) or c.relname ~ ${PART_NAME})`.execute(tx);
    if (!all.some(({ name, parted }) => name === 'events' && parted)) return undefined;
    const partitions = all.flatMap(({ name, from, to }): Partition[] => (from === null || to === null ? [] : [{ name, from, to }]));
    const { rows: free } = await sql`select from pg_constraint where conname = ${FREE} and conrelid = ${REST}::regclass`.execute(tx);
    return {
      partitions: partitions.sort((a, b) => a.from.getTime() - b.from.getTime()),
      restBytes: all.find(({ name }) => name === REST)?.bytes ?? 0,
      keepsFree: free.length > 0,
      detached: all.flatMap(({ name, own, parted }) => (own || parted || name === REST ? [] : [name])),
    };
  }

  /** The clock by which events have their times. */
  now(tx: Tx): Promise<Date> {
    return databaseTime(tx);
  }

  /** Begins every transaction that changes parts; false when another one is at it. */
  async begin(tx: Tx): Promise<boolean> {
    await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(tx);
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${TURN}) as mine`.execute(tx);
    return rows[0]!.mine;
  }

  /** What is there becomes the rest, as it stands. The lock is held for as long as a few rows of the catalogue take. */
  async part(tx: Tx): Promise<void> {
    await sql`alter table events rename to ${sql.table(REST)}`.execute(tx);
    await sql`create table events (like ${sql.table(REST)} including defaults) partition by range (ts)`.execute(tx);
    await sql`alter table events attach partition ${sql.table(REST)} default`.execute(tx);
  }

  /** From here on no event of this time comes into the rest, so that `add` need not look through it; `checkFree` does, while others write. */
  async keepFree(tx: Tx, { from, to }: Span): Promise<void> {
    await sql`alter table ${sql.table(REST)} add constraint ${sql.ref(FREE)}
      check (not (ts is not null and ts >= ${literal(from)}::timestamptz and ts < ${literal(to)}::timestamptz)) not valid`.execute(tx);
  }

  async checkFree(tx: Tx): Promise<void> {
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql`alter table ${sql.table(REST)} validate constraint ${sql.ref(FREE)}`.execute(tx);
  }

  async keepFreeNoMore(tx: Tx): Promise<void> {
    await sql`alter table ${sql.table(REST)} drop constraint if exists ${sql.ref(FREE)}`.execute(tx);
  }

  /** An empty part, with the indexes that the rest has. */
  async add(tx: Tx, { from, to }: Span): Promise<void> {
    await this.#create(tx, named(from));
    await sql`alter table events attach partition ${sql.table(named(from))} for values from (${literal(from)}) to (${literal(to)})`.execute(
      tx,
    );
  }

  /** Nobody reads or writes the log until the transaction ends. */
  async lock(tx: Tx): Promise<void> {
    await sql`lock table events in access exclusive mode`.execute(tx);
  }

  /** Nobody else looks at what is gone from the log: it is dropped afterwards, however long that takes. */
  async detach(tx: Tx, name: string): Promise<void> {
    await sql`alter table events detach partition ${sql.table(name)}`.execute(tx);
  }

  /** Puts an empty rest in place of the rest. */
  async detachRest(tx: Tx, at: Date): Promise<void> {
    await this.detach(tx, REST);
    const old = `${named(at)}_rest`;
    await sql`alter table ${sql.table(REST)} rename to ${sql.table(old)}`.execute(tx);
    await this.#create(tx, REST, old);
    await sql`alter table events attach partition ${sql.table(REST)} default`.execute(tx);
  }

  async drop(tx: Tx, name: string): Promise<void> {
    await sql`drop table ${sql.table(name)}`.execute(tx);
  }

  /** No statistics of the whole are taken by themselves; those of its parts are. */
  async analyze(tx: Tx): Promise<void> {
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql`analyze (skip_locked) events`.execute(tx);
  }

  /** When the newest event of a part was, or the newest within a span. */
  async newest(tx: Tx, name: string, { from, to }: Partial<Span> = {}): Promise<Date | undefined> {
    const { rows } = await sql<{ ts: Date | null }>`select max(ts) as ts from ${sql.table(name)}
      where ts >= coalesce(${from ?? null}, '-infinity'::timestamptz) and ts < coalesce(${to ?? null}, 'infinity'::timestamptz)`.execute(
      tx,
    );
    return rows[0]!.ts ?? undefined;
  }

  /** Streams that have events in a part above their floor, from before `before`, in the order in which appends lock them. */
  async above(tx: Tx, name: string, before: Date): Promise<number[]> {
    const { rows } = await sql<{ id: number }>`
      select s.id from event_streams s
      join lateral (
        select e.seq from ${sql.table(name)} e where e.stream_id = s.id and e.ts < ${before} order by e.seq desc limit 1
      ) l on l.seq > s.floor
      order by s.name`.execute(tx);
    return rows.map(({ id }) => id);
  }

  /**
   * Takes what a stream has in a part from its readers, as far as it is from before `before`. Its writers wait until the transaction ends. Its segments are left to
   * `EventSegments.forget`: whoever drops one has its row, and waits for the stream.
   */
  async raiseFloor(tx: Tx, name: string, streamId: number, before: Date): Promise<void> {
    await sql`select pg_advisory_xact_lock(1, ${streamId})`.execute(tx);
    await sql`
      with last as (
        select e.seq from ${sql.table(name)} e where e.stream_id = ${streamId} and e.ts < ${before} order by e.seq desc limit 1
      )
      update event_streams s set floor = log_place(s.epoch_ends, l.seq) from last l where s.id = ${streamId} and l.seq > s.floor`.execute(
      tx,
    );
  }

  async #create(tx: Tx, name: string, like = REST): Promise<void> {
    await sql`create table ${sql.table(name)} (like ${sql.table(like)} including all excluding constraints)`.execute(tx);
  }
}
