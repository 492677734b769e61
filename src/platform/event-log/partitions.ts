import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { databaseTime } from '../database/clock.js';
import type { Tx } from '../database/transactions.js';

export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/** A partition of the log by time, from `from` up to and without `to`. */
export interface Partition extends Span {
  readonly name: string;
}

export interface PartitionedLog {
  /** The oldest first. */
  readonly partitions: readonly Partition[];
  /** Bytes of the default partition, indexes not included. */
  readonly restBytes: number;
  /** The default partition has a span reserved for a new partition; also where the process that did so has died. */
  readonly hasReservedSpan: boolean;
  /** Tables that were detached from the log and not dropped yet. */
  readonly detached: readonly string[];
}

/** The default partition: it has the events from before the log was partitioned, and those of times that have no partition. */
export const REST = 'events_rest';
const RESERVED = 'events_rest_free_check';
/** Advisory lock: of all processes one at a time changes the partitions. */
const TURN = 7_305_441_824;
/** How long a change waits for its lock. Everybody who reads or writes the log queues behind it meanwhile. */
const LOCK_MS = 200;

const literal = (at: Date): RawBuilder<unknown> => sql.lit(at.toISOString());
const named = (from: Date): string => `events_${from.toISOString().replaceAll(/\D/g, '').slice(0, 12)}`;
const BOUNDS = "FROM \\('([^']+)'\\) TO \\('([^']+)'\\)";
const PARTITION_NAME = '^events_[0-9]{12}(_rest)?$';

/** All SQL that makes and drops the log's partitions by time. Old events go as whole tables and not row by row. */
@Injectable()
export class EventPartitions {
  /** Undefined for a log of one table, as it is until events are dropped by age. */
  async find(tx: Tx): Promise<PartitionedLog | undefined> {
    const { rows: all } = await sql<{
      name: string;
      partitioned: boolean;
      from: Date | null;
      to: Date | null;
      own: boolean;
      bytes: number;
    }>`
      select c.relname as name, c.relkind = 'p' as partitioned, c.relispartition as own, pg_relation_size(c.oid) as bytes, b.bounds[1]::timestamptz as "from", b.bounds[2]::timestamptz as "to"
      from pg_class c left join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), ${BOUNDS}) b(bounds) on true
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and (c.relname in ('events', ${REST}) or c.relname ~ ${PARTITION_NAME})`.execute(tx);
    if (!all.some(({ name, partitioned }) => name === 'events' && partitioned)) return undefined;
    const partitions = all.flatMap(({ name, from, to }): Partition[] => (from === null || to === null ? [] : [{ name, from, to }]));
    const { rows: free } = await sql`select from pg_constraint where conname = ${RESERVED} and conrelid = ${REST}::regclass`.execute(tx);
    return {
      partitions: partitions.sort((a, b) => a.from.getTime() - b.from.getTime()),
      restBytes: all.find(({ name }) => name === REST)?.bytes ?? 0,
      hasReservedSpan: free.length > 0,
      detached: all.flatMap(({ name, own, partitioned }) => (own || partitioned || name === REST ? [] : [name])),
    };
  }

  /** The time of the database, which events have. */
  now(tx: Tx): Promise<Date> {
    return databaseTime(tx);
  }

  /** Begins every transaction that changes partitions; false while another process changes them. */
  async begin(tx: Tx): Promise<boolean> {
    await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(tx);
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${TURN}) as mine`.execute(tx);
    return rows[0]!.mine;
  }

  /** Makes the log partitioned: the present table becomes the default partition, as it is. The lock is held while a few rows of the catalogue are written. */
  async partition(tx: Tx): Promise<void> {
    await sql`alter table events rename to ${sql.table(REST)}`.execute(tx);
    await sql`create table events (like ${sql.table(REST)} including defaults) partition by range (ts)`.execute(tx);
    await sql`alter table events attach partition ${sql.table(REST)} default`.execute(tx);
  }

  /**
   * From here on no event of this time gets into the default partition, so that `add` need not read that under its lock. `validateReserved` reads it, while
   * others write.
   */
  async reserve(tx: Tx, { from, to }: Span): Promise<void> {
    await sql`alter table ${sql.table(REST)} add constraint ${sql.ref(RESERVED)}
      check (not (ts is not null and ts >= ${literal(from)}::timestamptz and ts < ${literal(to)}::timestamptz)) not valid`.execute(tx);
  }

  async validateReserved(tx: Tx): Promise<void> {
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql`alter table ${sql.table(REST)} validate constraint ${sql.ref(RESERVED)}`.execute(tx);
  }

  async release(tx: Tx): Promise<void> {
    await sql`alter table ${sql.table(REST)} drop constraint if exists ${sql.ref(RESERVED)}`.execute(tx);
  }

  /** Adds an empty partition, with the indexes of the default one. */
  async add(tx: Tx, { from, to }: Span): Promise<void> {
    await this.#create(tx, named(from));
    await sql`alter table events attach partition ${sql.table(named(from))} for values from (${literal(from)}) to (${literal(to)})`.execute(
      tx,
    );
  }

  /** Keeps all others from reading and writing the log until the transaction ends. */
  async lock(tx: Tx): Promise<void> {
    await sql`lock table events in access exclusive mode`.execute(tx);
  }

  /** A detached table is read by nobody else, so that it can be dropped afterwards however long that takes. */
  async detach(tx: Tx, name: string): Promise<void> {
    await sql`alter table events detach partition ${sql.table(name)}`.execute(tx);
  }

  /** Puts an empty default partition in place of the present one. */
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

  /** PostgreSQL takes statistics of partitions by itself, but not of the partitioned table. */
  async analyze(tx: Tx): Promise<void> {
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql`analyze (skip_locked) events`.execute(tx);
  }

  /** The time of the newest event of a partition, or of the newest within a span. */
  async newest(tx: Tx, name: string, { from, to }: Partial<Span> = {}): Promise<Date | undefined> {
    const { rows } = await sql<{ ts: Date | null }>`select max(ts) as ts from ${sql.table(name)}
      where ts >= coalesce(${from ?? null}, '-infinity'::timestamptz) and ts < coalesce(${to ?? null}, 'infinity'::timestamptz)`.execute(
      tx,
    );
    return rows[0]!.ts ?? undefined;
  }

  /** Streams that have events above their floor in a partition, from before `before`, in the order in which appends lock them. */
  async streamsAboveFloor(tx: Tx, name: string, before: Date): Promise<number[]> {
    const { rows } = await sql<{ id: number }>`
      select s.id from event_streams s
      join lateral (
        select e.seq from ${sql.table(name)} e where e.stream_id = s.id and e.ts < ${before} order by e.seq desc limit 1
      ) l on l.seq > s.floor
      order by s.name`.execute(tx);
    return rows.map(({ id }) => id);
  }

  /**
   * Raises a stream's floor above its events in a partition that are from before `before`: readers are not given them any more. Writers of the stream wait until
   * the transaction ends. Segments are left to `EventSegments.forget`: who drops one locks its row first and then the stream, so this may not do the reverse.
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
