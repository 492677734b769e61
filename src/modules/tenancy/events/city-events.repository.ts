import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { fitted, fitting, type Fitted, type Room } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { EpochEnds } from '../../../platform/event-log/epochs.js';
import { cityEnvelope, wireBytes, wireText } from '../../../platform/event-log/wire.js';
import { ago, matches, type EventFilter } from './event-filter.js';

export interface CityStream {
  readonly id: number;
  readonly head: number;
  readonly floor: number;
  readonly ends: EpochEnds;
}

export interface CityEvent {
  readonly seq: number;
  readonly bytes: number;
  /** The envelope's JSON. */
  readonly json: string;
}

/** A stretch of a stream: above `after`, up to and with `upto`. */
export interface SeqRange {
  readonly after: number;
  readonly upto: number;
}

/** Reads one city's stream. */
@Injectable()
export class CityEventsRepository {
  constructor(private readonly db: Db) {}

  /** The stream of a running city. */
  async runningStream(city: string): Promise<CityStream | undefined> {
    const { rows } = await sql<CityStream>`
      select s.id, s.head, s.floor, s.epoch_ends::float8[] as ends from cities c join event_streams s on s.id = c.stream_id
      where c.name = ${city} and c.running`.execute(this.db);
    return rows[0];
  }

  /** Whether the city of a stream, whose lock is held, runs: what stops it comes before the lock, or after. */
  async isRunning(tx: Tx, streamId: number): Promise<boolean> {
    const { rows } = await sql`select from cities where stream_id = ${streamId} and running`.execute(tx);
    return rows.length > 0;
  }

  /** What the log has dropped of a stream by now. */
  async floor(streamId: number): Promise<number> {
    const { rows } = await sql<{ floor: number }>`select floor from event_streams where id = ${streamId}`.execute(this.db);
    return rows[0]!.floor;
  }

  /** The newest seq that is older than `ms`; the floor when there is none. */
  async seqBefore(streamId: number, ms: number): Promise<number> {
    const { rows } = await sql<{ seq: number }>`select event_seq_before(${streamId}, ${ago(ms)}) as seq`.execute(this.db);
    return rows[0]!.seq;
  }

  /** What of a range matches and fits into the room, and whether there is more. */
  async page(
    streamId: number,
    range: SeqRange,
    filter: EventFilter,
    order: 'asc' | 'desc',
    room: Room,
  ): Promise<{ items: CityEvent[]; more: boolean }> {
    const by = sql`order by e.seq ${sql.raw(order)}`;
    const found = sql`
      select e.*, ${wireBytes()} as bytes from events e
      where e.stream_id = ${streamId} and e.seq > ${range.after} and e.seq <= ${range.upto} and ${matches(filter)}
      ${by} limit ${room.rows + 1}`;
    const { rows } = await sql<Fitted & { seq: number; bytes: number; text: string }>`
      select e.seq, e.bytes, e.fits, case when e.fits then ${wireText()} end as text
      from (${fitting(found, sql`seq ${sql.raw(order)}`, room)}) e ${by}`.execute(this.db);
    const held = fitted(rows);
    return { items: held.rows.map(({ seq, bytes, text }) => ({ seq, bytes, json: cityEnvelope(text) })), more: held.more };
  }

  /** How many events of the range match, counting at most `limit`. */
  async count(streamId: number, range: SeqRange, filter: EventFilter, limit: number): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from (
        select 1 from events e
        where e.stream_id = ${streamId} and e.seq > ${range.after} and e.seq <= ${range.upto} and ${matches(filter)}
        limit ${limit}) counted`.execute(this.db);
    return rows[0]!.n;
  }
}
