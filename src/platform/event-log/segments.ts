import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../database/transactions.js';

export interface Segment {
  readonly first: number;
  readonly last: number;
}

/**
 * Segments of streams. Sealing closes the active segment of a stream. Dropping deletes the oldest sealed events and raises the floor in the same transaction, so
 * that no reader sees a hole above the floor.
 */
@Injectable()
export class EventSegments {
  /** Seals everything after the last seal up to the head; undefined when there is nothing. Holds the stream's lock. */
  async seal(tx: Tx, streamId: number): Promise<Segment | undefined> {
    await sql`select pg_advisory_xact_lock(1, ${streamId})`.execute(tx);
    const { rows } = await sql<Segment>`
      with sealed as (
        update event_streams s set sealed_seq = s.head
        from event_streams old
        where s.id = ${streamId} and old.id = s.id and s.head > greatest(s.sealed_seq, s.floor)
        returning s.id, greatest(old.sealed_seq, old.floor) + 1 as first, s.head as last
      )
      insert into event_segments (stream_id, first_seq, last_seq)
      select id, first, last from sealed returning first_seq as first, last_seq as last`.execute(tx);
    return rows[0];
  }

  /** Streams whose active segment has `events` or more, or began more than `ms` ago. */
  async due(tx: Tx, events: number, ms: number, limit: number): Promise<number[]> {
    const { rows } = await sql<{ id: number }>`
      select s.id from event_streams s
      join lateral (select e.ts from events e where e.stream_id = s.id and e.seq > s.sealed_seq order by e.seq limit 1) f on true
      where s.head > s.sealed_seq and (s.head - s.sealed_seq >= ${events} or f.ts < now() - ${ms}::double precision * interval '1 millisecond')
      limit ${limit}`.execute(tx);
    return rows.map((row) => row.id);
  }

  /**
   * Drops up to `limit` of the oldest events of one sealed segment whose newest event is older than `ms`, and from before `before`. False when
   * there is none, or another process is at it.
   */
  async dropOldest(tx: Tx, ms: number, limit: number, before?: Date): Promise<boolean> {
    const { rows } = await sql<{ stream_id: number; first_seq: number; last_seq: number; floor: number }>`
      select g.stream_id, g.first_seq, g.last_seq, s.floor
      from event_segments g
      join event_streams s on s.id = g.stream_id
      join events e on e.stream_id = g.stream_id and e.seq = g.last_seq
      where e.ts < now() - ${ms}::double precision * interval '1 millisecond'
        and ${before === undefined ? sql`true` : sql`e.ts < ${before}`}
        and g.first_seq <= s.floor + 1 and g.last_seq > s.floor
      order by g.stream_id limit 1 for update of g skip locked`.execute(tx);
    const segment = rows[0];
    if (segment === undefined) return false;
    const upto = Math.min(segment.last_seq, segment.floor + limit);
    await sql`delete from events where stream_id = ${segment.stream_id} and seq > ${segment.floor} and seq <= ${upto}`.execute(tx);
    await sql`select pg_advisory_xact_lock(1, ${segment.stream_id})`.execute(tx);
    // A dropped partition may have raised the floor further meanwhile. A lower floor would promise events that are gone.
    await sql`update event_streams set floor = greatest(floor, log_place(epoch_ends, ${upto}::bigint)) where id = ${segment.stream_id}`.execute(
      tx,
    );
    return true;
  }

  /** Deletes the rows of segments below the floor: their events are gone, and every search for the next segment would pass over them. It waits for no lock. */
  async forget(tx: Tx, limit: number): Promise<void> {
    await sql`delete from event_segments where (stream_id, first_seq) in (
      select g.stream_id, g.first_seq from event_segments g join event_streams s on s.id = g.stream_id
      where g.last_seq <= s.floor limit ${limit} for update of g skip locked)`.execute(tx);
  }
}
