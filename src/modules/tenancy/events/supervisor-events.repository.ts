import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { SUPERVISOR_STREAM } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import { fromMicroseconds } from '../../../platform/database/microseconds.js';
import { fitted, fitting, type Fitted, type Room } from '../../../platform/database/page-bytes.js';
import { soonest } from '../../../platform/database/soonest.js';
import { taggedEnvelope, wireBytes, wireCity, wireText } from '../../../platform/event-log/wire.js';
import { ago, matches, type EventFilter } from './event-filter.js';

/** A place in the supervisor's one order: by time, then stream, then seq. `us` are microseconds since 1970. */
export interface Place {
  readonly us: number;
  readonly streamId: number;
  readonly seq: number;
}
export interface TaggedEvent extends Place {
  readonly bytes: number;
  readonly json: string;
}
/** What is left of a stream to be looked at: above `after` up to `upto`. */
export interface Left {
  readonly id: number;
  readonly after: number;
  readonly upto: number;
}
/** Events of a stretch, what of the streams is older than it, where the stretch has no more itself, and the newest event in that; undefined where nothing is left. */
export interface Stretch extends TaggedPart {
  readonly left: readonly Left[];
  readonly end: Place | undefined;
}
/** Events that fit into a room, and whether there are more. */
export interface TaggedPart {
  readonly items: readonly TaggedEvent[];
  readonly more: boolean;
}

/** What a list looks at: `cities` undefined means everything; ages are milliseconds before now. */
export interface Scope {
  readonly cities: readonly string[] | undefined;
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly filter: EventFilter;
}

/** A stream's part of a scope, above `after` up to `upto`; a page continues at `page`. */
export interface StreamBounds {
  readonly id: number;
  readonly name: string;
  readonly after: number;
  readonly upto: number;
  /** Events between them. */
  readonly size: number;
  readonly page: number;
}

interface Row extends Fitted {
  readonly streamId: number;
  readonly seq: number;
  readonly us: number;
  readonly bytes: number;
  readonly city: string;
  readonly stream: string;
  readonly text: string;
}

const us = sql<number>`(extract(epoch from e.ts) * 1000000)::bigint`;
const columns = (): RawBuilder<Row> =>
  sql<Row>`e.stream_id as "streamId", e.seq, e.bytes, e.fits, ${us} as us, e.city, e.stream,
    case when e.fits then ${wireText()} end as text`;
const NEWEST = sql`order by e.ts desc, e.stream_id desc, e.seq desc`;
const toEvent = (row: Row): TaggedEvent => ({
  us: row.us,
  streamId: row.streamId,
  seq: row.seq,
  bytes: row.bytes,
  json: taggedEnvelope(row.text, row.city, row.stream),
});

/** SQL over `e` and `s`: what a caller limited to these cities may see, ends of city operations included. */
export function tagged(cities: readonly string[] | undefined): RawBuilder<boolean> {
  return cities === undefined ? sql<boolean>`true` : sql<boolean>`${wireCity()} = any(${[...cities]}::text[])`;
}

/** SQL over `s`: the streams that can hold events of these cities, those that are not registered any more included. */
export function ofCities(cities: readonly string[] | undefined): RawBuilder<boolean> {
  return cities === undefined ? sql<boolean>`true` : sql<boolean>`s.name = any(${[SUPERVISOR_STREAM, ...cities]}::text[])`;
}

/** SQL of how many events there are between two places of a log. Few have had an epoch, and to ask the function takes ten times as long. */
function sizeOf(ends: RawBuilder<unknown>, after: RawBuilder<unknown>, upto: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`case when ${ends} = '{}' then ${upto} - ${after} else log_distance(${ends}, ${after}, ${upto}) end`;
}

function inTime({ since, until }: Scope): RawBuilder<boolean> {
  const parts: RawBuilder<unknown>[] = [sql`true`];
  if (since !== undefined) parts.push(sql`e.ts >= ${ago(since)}`);
  if (until !== undefined) parts.push(sql`e.ts < ${ago(until)}`);
  return sql<boolean>`(${sql.join(parts, sql` and `)})`;
}

/** Reads the events of all streams, newest first. */
@Injectable()
export class SupervisorEventsRepository {
  constructor(private readonly db: Db) {}

  /** Events held by every stream together. */
  async countAll(): Promise<number> {
    const { rows } = await sql<{
      n: number;
    }>`select coalesce(sum(${sizeOf(sql`s.epoch_ends`, sql`s.floor`, sql`s.head`)}), 0)::bigint as n from event_streams s`.execute(this.db);
    return rows[0]!.n;
  }

  /** The scope's streams: all that may have events of its cities, and without cities undefined when they are more than `most`. */
  async streams(scope: Scope, from: Place | undefined, most: number): Promise<StreamBounds[] | undefined> {
    const limited = scope.cities !== undefined;
    const before = (ms: number | undefined, otherwise: RawBuilder<number>): RawBuilder<number> =>
      ms === undefined ? otherwise : sql<number>`event_seq_before(s.id, ${ago(ms)})`;
    const page =
      from === undefined
        ? sql<number>`s.head`
        : sql<number>`case when s.id = ${from.streamId} then ${from.seq}::bigint
            else event_seq_before(s.id, ${fromMicroseconds(from.us)} + case when s.id < ${from.streamId} then interval '1 microsecond' else interval '0' end) end`;
    const { rows } = await sql<StreamBounds>`
      with s as materialized (
        select s.id, s.name, s.head, s.floor, s.epoch_ends from event_streams s
        where ${ofCities(scope.cities)} and ${limited ? sql`true` : await this.#hasType(scope.filter.type, most)} limit ${limited ? null : most + 1}
      )
      select b.*, ${sizeOf(sql`b.epoch_ends`, sql`b.after`, sql`b.upto`)} as size from (
        select s.id, s.name, s.epoch_ends, ${before(scope.since, sql<number>`s.floor`)} as after, ${before(scope.until, sql<number>`s.head`)} as upto, ${page} as page
        from s where ${limited} or (select count(*) from s) <= ${most}
      ) b`.execute(this.db);
    if (rows.length > 0) return rows;
    return (await this.#anyStream(scope)) ? undefined : [];
  }

  async #anyStream(scope: Scope): Promise<boolean> {
    if (scope.filter.type === undefined) return true;
    const { rows } = await sql`select 1 from events where type = ${scope.filter.type} limit 1`.execute(this.db);
    return rows.length > 0;
  }

  /** With a type, only streams that have it, found by skipping through the index; any stream when they are too many. */
  async #hasType(type: string | undefined, most: number): Promise<RawBuilder<boolean>> {
    if (type === undefined) return sql<boolean>`true`;
    const { rows } = await sql<{ id: number }>`
      with recursive hop as (
        (select stream_id as id, 1 as n from events where type = ${type} order by type, stream_id limit 1)
        union all
        select (select stream_id from events where type = ${type} and stream_id > hop.id order by type, stream_id limit 1), hop.n + 1
        from hop where hop.id is not null and hop.n <= ${most}
      ) select id from hop where id is not null`.execute(this.db);
    return rows.length > most ? sql<boolean>`true` : sql<boolean>`s.id = any(${rows.map((r) => r.id)}::int[])`;
  }

  /** The newest matching events of a few streams. */
  pageOfStreams(streams: readonly StreamBounds[], scope: Scope, room: Room): Promise<TaggedPart> {
    const limit = room.rows + 1;
    return this.#part(
      sql`
      select e.*, ${wireCity()} as city, s.name as stream, ${wireBytes()} as bytes
      from unnest(${streams.map((s) => s.id)}::int[], ${streams.map((s) => s.after)}::bigint[], ${streams.map((s) => Math.min(s.page, s.upto))}::bigint[]) as w(id, after, upto)
      join event_streams s on s.id = w.id
      join lateral (
        select * from events e
        where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto and ${matches(scope.filter)} and ${tagged(scope.cities)}
        order by e.seq desc limit ${soonest(limit)}
      ) e on true
      ${NEWEST} limit ${limit}`,
      room,
    );
  }

  /** How many events of a few streams match, looking at most at `limit` of each stream. */
  async countOfStreams(streams: readonly StreamBounds[], scope: Scope, limit: number): Promise<{ n: number; most: number }> {
    const { rows } = await sql<{ n: number; most: number }>`
      select coalesce(sum(c.n), 0)::bigint as n, coalesce(max(c.n), 0) as most
      from unnest(${streams.map((s) => s.id)}::int[], ${streams.map((s) => s.after)}::bigint[], ${streams.map((s) => s.upto)}::bigint[]) as w(id, after, upto)
      join event_streams s on s.id = w.id
      join lateral (
        select count(*) as n from (
          select 1 from events e
          where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto and ${matches(scope.filter)} and ${tagged(scope.cities)}
          limit ${limit}) one
      ) c on true`.execute(this.db);
    return rows[0]!;
  }

  /**
   * The newest matching events of streams, in the order of all lists, of a stretch that begins with the newest of them: of those streams whose newest
   * events come first, at most `most`, so many events as `window` are looked at. Nothing is read of any other stream.
   */
  async stretch(streams: readonly Left[], scope: Scope, room: Room, window: number, most: number): Promise<Stretch> {
    const ofType = scope.filter.type === undefined ? sql`true` : sql`e.type = ${scope.filter.type}`;
    const newest = sql`select e.ts, e.stream_id, e.seq from events e
      where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto and ${ofType} order by e.seq desc limit 1`;
    const { rows: chosen } = await sql<Left & { from: number }>`
      select w.id, w.after, f.seq as upto, greatest(w.after, f.seq - ${window}::bigint) as "from"
      from ${lefts(streams)} join lateral (${newest}) f on true
      order by f.ts desc, w.id desc limit ${most + 1}`.execute(this.db);
    const read = chosen.slice(0, most);
    // What this stretch does not look at: what is below a window, and the first stream that was left out.
    const beyond = [...read.map((r) => ({ id: r.id, after: r.after, upto: r.from })), ...chosen.slice(most)];
    const { rows: ends } = await sql<Place>`
      select (extract(epoch from f.ts) * 1000000)::bigint as us, f.stream_id as "streamId", f.seq
      from ${lefts(beyond)} join lateral (${newest}) f on true
      order by f.ts desc, f.stream_id desc, f.seq desc limit 1`.execute(this.db);
    const end = ends[0];
    const looked = read.map((r) => ({ id: r.id, after: r.from, upto: r.upto }));
    const part = await this.#part(
      sql`
      select e.*, ${wireCity()} as city, s.name as stream, ${wireBytes()} as bytes
      from ${lefts(looked)} join event_streams s on s.id = w.id
      join lateral (
        select * from events e
        where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto and ${after(end)} and ${matches(scope.filter)} and ${tagged(scope.cities)}
        order by e.seq desc limit ${soonest(room.rows + 1)}
      ) e on true
      ${NEWEST} limit ${room.rows + 1}`,
      room,
    );
    return { ...part, left: end === undefined || part.more ? [] : await this.#below(streams, looked, end, ofType), end };
  }

  /** What a stretch has left of the streams, of which it has looked at these down to `end`. Of what is of another type nothing is left, nor read. */
  async #below(streams: readonly Left[], looked: readonly Left[], end: Place, ofType: RawBuilder<unknown>): Promise<Left[]> {
    const { rows } = await sql<{ id: number; seq: number | null }>`
      select w.id, (
        select e.seq from events e
        where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto
          and ${atOrBefore(end)} and ${ofType} order by e.seq desc limit 1) as seq
      from ${lefts(looked)}`.execute(this.db);
    const reached = new Map(looked.map(({ id, after }) => [id, after]));
    for (const { id, seq } of rows) if (seq !== null) reached.set(id, seq);
    return streams.map((s) => ({ id: s.id, after: s.after, upto: reached.get(s.id) ?? s.upto })).filter((s) => s.upto > s.after);
  }

  /** Matches among the newest `each` events of each stream. */
  async countNewest(streams: readonly Left[], scope: Scope, each: number): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select coalesce(sum(c.n), 0)::bigint as n from ${lefts(streams)} join event_streams s on s.id = w.id
      join lateral (
        select count(*) filter (where ${matches(scope.filter)} and ${tagged(scope.cities)}) as n from (
          select * from events e where e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto order by e.seq desc limit ${each}) e
      ) c on true`.execute(this.db);
    return rows[0]!.n;
  }

  /** The place `n` events before `from`, matching or not. */
  async skip(from: Place | undefined, scope: Scope, n: number): Promise<Place | undefined> {
    const { rows } = await sql<Place>`
      select ${us} as us, e.stream_id as "streamId", e.seq from events e
      where ${atOrBefore(from)} and ${inTime(scope)}
      order by e.ts desc, e.stream_id desc, e.seq desc offset ${n} limit 1`.execute(this.db);
    return rows[0];
  }

  /** The newest matching events at or before `from` and after `end`, over all streams. */
  page(from: Place | undefined, end: Place | undefined, scope: Scope, room: Room): Promise<TaggedPart> {
    return this.#part(
      sql`
      select e.*, ${wireCity()} as city, s.name as stream, ${wireBytes()} as bytes from events e join event_streams s on s.id = e.stream_id
      where ${atOrBefore(from)} and ${after(end)}
        and ${inTime(scope)} and ${ofCities(scope.cities)} and ${matches(scope.filter)} and ${tagged(scope.cities)}
      ${NEWEST} limit ${room.rows + 1}`,
      room,
    );
  }

  async #part(found: RawBuilder<unknown>, room: Room): Promise<TaggedPart> {
    const { rows } = await sql<Row>`
      select ${columns()}
      from (${fitting(found, sql`ts desc, stream_id desc, seq desc`, room)}) e
      ${NEWEST}`.execute(this.db);
    const held = fitted(rows);
    return { items: held.rows.map(toEvent), more: held.more };
  }

  /** Matches among the newest `limit` events of the scope's time, and how many events those were. */
  async count(scope: Scope, limit: number): Promise<{ n: number; seen: number }> {
    const { rows } = await sql<{ n: number; seen: number }>`
      select count(*) filter (where ${ofCities(scope.cities)} and ${matches(scope.filter)} and ${tagged(scope.cities)}) as n, count(*) as seen
      from (select * from events e where ${inTime(scope)} order by e.ts desc, e.stream_id desc, e.seq desc limit ${limit}) e
      join event_streams s on s.id = e.stream_id`.execute(this.db);
    return rows[0]!;
  }
}

/** SQL of streams, as `w`. */
function lefts(streams: readonly Left[]): RawBuilder<unknown> {
  return sql`unnest(${streams.map((s) => s.id)}::int[], ${streams.map((s) => s.after)}::bigint[], ${streams.map((s) => s.upto)}::bigint[]) as w(id, after, upto)`;
}

const place = (at: Place): RawBuilder<unknown> => sql`(${fromMicroseconds(at.us)}, ${at.streamId}, ${at.seq})`;
const atOrBefore = (from: Place | undefined): RawBuilder<boolean> =>
  from === undefined ? sql<boolean>`true` : sql<boolean>`(e.ts, e.stream_id, e.seq) <= ${place(from)}`;
/** The time follows from the place. By it older partitions of the log are not read; a comparison of rows alone prunes none. */
const after = (end: Place | undefined): RawBuilder<boolean> =>
  end === undefined
    ? sql<boolean>`true`
    : sql<boolean>`(e.ts >= ${fromMicroseconds(end.us)} and (e.ts, e.stream_id, e.seq) > ${place(end)})`;
