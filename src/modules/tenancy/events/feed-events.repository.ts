import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { marked, type Room } from '../../../platform/database/page-bytes.js';
import { soonest } from '../../../platform/database/soonest.js';
import type { EpochEnds } from '../../../platform/event-log/epochs.js';
import type { EarlierJoins } from '../../../platform/event-log/joins.js';
import { taggedEnvelope, wireBytes, wireCity, wireText } from '../../../platform/event-log/wire.js';
import { saysMore } from '../../../platform/event-log/event-log.js';
import { ago, matches, type EventFilter } from './event-filter.js';
import { ofCities, tagged } from './supervisor-events.repository.js';

export interface FeedStream {
  readonly id: number;
  readonly name: string;
  readonly head: number;
  readonly floor: number;
  readonly active: boolean;
  readonly joinedSeq: number;
  readonly joinedSupervisorSeq: number;
  readonly earlier: EarlierJoins;
  readonly ends: EpochEnds;
  /** Whether it may still have something to say after it has left. */
  readonly lately: boolean;
}

/** How far a reader is in one stream, and how far it may go. */
export interface Lag {
  readonly id: number;
  readonly after: number;
  readonly upto: number;
  readonly ends: EpochEnds;
}

export interface FeedKey {
  readonly id: number;
  readonly seq: number;
  readonly bytes: number;
}

/** The next stretch of the feed: matching events in the feed's order, and where each stream that was read now stands. */
export interface FeedPart {
  readonly keys: readonly FeedKey[];
  readonly reached: ReadonlyMap<number, number>;
  /** The room has no place for the next one. */
  readonly full: boolean;
}

const STREAM = sql`s.id, s.name, s.head, s.floor, s.active, s.joined_seq as "joinedSeq", s.joined_supervisor_seq as "joinedSupervisorSeq",
  s.earlier_joins::float8[] as earlier,
  s.epoch_ends::float8[] as ends, ${saysMore(sql`s`)} as lately`;

/** Reads the events of all streams upwards from a position of the feed. */
@Injectable()
export class FeedEventsRepository {
  constructor(private readonly db: Db) {}

  async streams(cities: readonly string[] | undefined, alsoIds: readonly number[], alsoNames: readonly string[]): Promise<FeedStream[]> {
    const { rows } = await sql<FeedStream>`
      select ${STREAM} from event_streams s
      where (s.active and ${ofCities(cities)}) or s.id = any(${[...alsoIds]}::int[]) or s.name = any(${[...alsoNames]}::text[])
      order by s.name`.execute(this.db);
    return rows;
  }

  /** Up to `limit` streams that joined the feed after this event of the supervisor's stream, and have left it. */
  async leftSince(supervisorSeq: number, limit: number, cities: readonly string[] | undefined): Promise<FeedStream[]> {
    const { rows } = await sql<FeedStream>`
      select ${STREAM} from event_streams s
      where not s.active and s.joined_supervisor_seq >= ${supervisorSeq} and ${ofCities(cities)} limit ${limit}`.execute(this.db);
    return rows;
  }

  /**
   * The next events of the streams whose next event is the oldest. Nothing at or beyond the next event of a stream
   * that was left out is returned, so that the feed's order holds across parts. `stretch` bounds what is looked at, `most` the streams read together.
   */
  async next(
    lags: readonly Lag[],
    cities: readonly string[] | undefined,
    filter: EventFilter,
    room: Room,
    stretch: number,
    most: number,
  ): Promise<FeedPart> {
    const window = Math.ceil(stretch / Math.min(lags.length, most));
    const { rows: chosen } = await sql<Omit<Lag, 'ends'> & { readonly end: number }>`
      select w.id, w.after, least(w.upto, f.seq - 1 + ${window}::bigint) as upto, w.upto as end
      from unnest(${lags.map((l) => l.id)}::int[], ${lags.map((l) => l.after)}::bigint[], ${lags.map((l) => l.upto)}::bigint[]) as w(id, after, upto)
      join lateral (select e.seq, e.ts from events e where e.stream_id = w.id and e.seq > w.after order by e.seq limit 1) f on true
      order by f.ts, w.id limit ${most + 1}`.execute(this.db);
    const read = chosen.slice(0, most);
    // The first events that this part does not look at: of a stream left out, and of streams read up to a window.
    const unread = read.filter((r) => r.upto < r.end).map((r) => ({ id: r.id, seq: r.upto + 1 }));
    if (chosen.length > most) unread.push({ id: chosen[most]!.id, seq: chosen[most]!.after + 1 });
    const next = sql`
      select e.*
      from unnest(${read.map((r) => r.id)}::int[], ${read.map((r) => r.after)}::bigint[], ${read.map((r) => r.upto)}::bigint[]) as w(id, after, upto)
      join event_streams s on s.id = w.id
      join lateral (
        select e.stream_id, e.seq, e.ts, ${wireBytes()} as bytes from events e
        where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto and ${matches(filter)} and ${tagged(cities)}
        order by e.seq limit ${soonest(room.rows + 1)}
      ) e on true`;
    const { rows } = await sql<FeedKey & { fits: boolean; taken: boolean }>`
      with unread as (
        select e.ts, e.stream_id, e.seq
        from unnest(${unread.map((u) => u.id)}::int[], ${unread.map((u) => u.seq)}::bigint[]) as u(id, seq)
        join lateral (select ts, stream_id, seq from events where stream_id = u.id and seq >= u.seq order by seq limit 1) e on true
        order by e.ts, e.stream_id, e.seq limit 1
      )
      select f.stream_id as id, f.seq, f.bytes, f.fits,
        f.fits and coalesce((select (f.ts, f.stream_id, f.seq) < (u.ts, u.stream_id, u.seq) from unread u), true) as taken
      from (${marked(next, sql`ts, stream_id, seq`, room)}) f
      order by f.ts, f.stream_id, f.seq`.execute(this.db);
    const reached = new Map(read.map((r) => [r.id, r.upto]));
    for (const row of rows) if (!row.taken) reached.set(row.id, Math.min(reached.get(row.id)!, row.seq - 1));
    return { keys: rows.filter((r) => r.taken), reached, full: rows.find((r) => !r.taken)?.fits === false };
  }

  /** The first of these streams of which the log has dropped more by now than was behind the reader. */
  async passed(lags: readonly Lag[]): Promise<Pick<FeedStream, 'name' | 'floor'> | undefined> {
    if (lags.length === 0) return undefined;
    const { rows } = await sql<Pick<FeedStream, 'name' | 'floor'>>`
      select s.name, s.floor from unnest(${lags.map((l) => l.id)}::int[], ${lags.map((l) => l.after)}::bigint[]) as w(id, after)
      join event_streams s on s.id = w.id where s.floor > w.after order by s.name limit 1`.execute(this.db);
    return rows[0];
  }

  /** Envelopes of single events, in the order given. */
  async envelopes(keys: readonly FeedKey[]): Promise<string[]> {
    if (keys.length === 0) return [];
    const { rows } = await sql<{ text: string; city: string; stream: string }>`
      select ${wireCity()} as city, s.name as stream, ${wireText()} as text
      from unnest(${keys.map((k) => k.id)}::int[], ${keys.map((k) => k.seq)}::bigint[]) with ordinality as k(id, seq, ord)
      join events e on e.stream_id = k.id and e.seq = k.seq
      join event_streams s on s.id = k.id
      order by k.ord`.execute(this.db);
    return rows.map((row) => taggedEnvelope(row.text, row.city, row.stream));
  }

  /** The seqs between which a stream's events lie in time; ages are milliseconds before now. */
  async between(ids: readonly number[], since = Infinity, until = 0): Promise<{ id: number; first: number; last: number }[]> {
    const before = (ms: number): RawBuilder<number> => sql<number>`event_seq_before(w.id, ${ago(ms)})`;
    const { rows } = await sql<{ id: number; first: number; last: number }>`
      select w.id, ${since === Infinity ? sql<number>`0` : before(since)} as first, ${until === 0 ? sql<number>`s.head` : before(until)} as last
      from unnest(${[...ids]}::int[]) as w(id) join event_streams s on s.id = w.id`.execute(this.db);
    return rows;
  }

  async count(lags: readonly Lag[], cities: readonly string[] | undefined, filter: EventFilter): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n
      from unnest(${lags.map((l) => l.id)}::int[], ${lags.map((l) => l.after)}::bigint[], ${lags.map((l) => l.upto)}::bigint[]) as w(id, after, upto)
      join event_streams s on s.id = w.id
      join events e on e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto
      where ${matches(filter)} and ${tagged(cities)}`.execute(this.db);
    return rows[0]!.n;
  }
}
