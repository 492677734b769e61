import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import type { Buckets } from '../../../contract/buckets.js';
import { Db } from '../../../platform/database/database.js';
import { isUnindexed, matches, type EventFilter } from './event-filter.js';
import { ofCities, tagged } from './supervisor-events.repository.js';

export interface HistogramQuery extends Buckets {
  readonly by: 'type' | 'actor' | undefined;
  /** Kinds, or actors, that are told one by one; the rest is one. */
  readonly groups: number;
  readonly filter: EventFilter;
  /** Undefined: everything. */
  readonly cities: readonly string[] | undefined;
  /** Events that are looked at in all. */
  readonly most: number;
}

export interface HistogramPoint {
  readonly at: string;
  /** Null is the rest. */
  readonly of: string | null;
  readonly count: number;
}

export interface Histogram {
  readonly first: Date;
  readonly last: Date;
  readonly points: readonly HistogramPoint[];
  readonly estimated: boolean;
}

const ms = (length: number | RawBuilder<unknown>): RawBuilder<unknown> => sql`(${length}::float8 * interval '1 millisecond')`;
const binned = (bucket: number, at: RawBuilder<unknown>): RawBuilder<Date> =>
  sql<Date>`date_bin(${ms(bucket)}, ${at}, timestamptz '2000-01-01Z')`;
/** Of all buckets together: where few events stand for many, they come from many places. */
const SLICES = 200;
const GROUPS = { type: sql`e.type`, actor: sql`e.actor` } as const;

/** Counts events a bucket of time at a time, with a bounded number of looks at them. */
@Injectable()
export class EventHistogramRepository {
  constructor(private readonly db: Db) {}

  /** The streams of a scope that exist, or undefined when they are more than `most`. */
  async streams(cities: readonly string[] | undefined, most: number): Promise<number[] | undefined> {
    const { rows } = await sql<{ id: number }>`select s.id from event_streams s where ${ofCities(cities)} limit ${most + 1}`.execute(
      this.db,
    );
    return rows.length > most ? undefined : rows.map(({ id }) => id);
  }

  /**
   * Of a few streams. Positions without gaps tell how many events a bucket has; which they are, some evenly spread ones tell of a bucket
   * that has more than its share of the looks.
   */
  ofStreams(streams: readonly number[], query: HistogramQuery): Promise<Histogram> {
    const { bucket, most, filter, by, cities } = query;
    const each = Math.max(1, Math.ceil(most / (countOf(query) * Math.max(1, streams.length))));
    const nth = sql`(1 + floor(i * (w.size::float8 / ${each}))::bigint)`;
    // Each of the spread ones is looked up by itself, in the partition that has its time. As a join the planner reads all of a city for each bucket,
    // as it takes any city for a small one.
    const found = isPlain(query)
      ? sql`select w.at, ''::text as of, w.size::float8 as weight, false as sampled from w where w.size > 0`
      : sql`
        select w.at, ${groupOf(by)} as of, greatest(1, w.size::float8 / ${each}) as weight, w.size > ${each} as sampled
        from w join event_streams s on s.id = w.id cross join lateral (
          select e.* from events e where w.size <= ${each} and e.stream_id = w.id and e.seq > w.after and e.seq <= w.upto
          union all
          select e.* from generate_series(0, ${each} - 1) as i cross join lateral (
            select e.* from events e
            where e.stream_id = w.id and e.ts >= w.at and e.ts < w.at + ${ms(bucket)} and e.seq = ${placeOfNth(sql`w.after`, nth)} limit 1
          ) e where w.size > ${each}
        ) e where ${matches(filter)} and ${tagged(cities)}`;
    return this.#points(
      query,
      sql`edges as materialized (
          select s.id, n as at, event_seq_before(s.id, least(n, (select last from span))) as before
          from unnest(${[...streams]}::int[]) as s(id), generate_series((select first from span), (select last from span) + ${ms(bucket)}, ${ms(bucket)}) as n
        ), between as (
          select id, at, before as after, coalesce(lead(before) over (partition by id order by at), before) as upto from edges
        ), w as materialized (
          select b.*, log_distance(s.epoch_ends, b.after, b.upto) as size from between b join event_streams s on s.id = b.id
        ), found as (${found})`,
    );
  }

  /** Of all streams, by time: so many of the first events of each slice of a bucket, and how far they reach tells how many there are. */
  byTime(query: HistogramQuery): Promise<Histogram> {
    const { bucket, most, filter, by, cities } = query;
    const count = countOf(query);
    const parts = Math.max(1, Math.floor(SLICES / count));
    const each = Math.max(1, Math.ceil(most / (count * parts)));
    const slice = bucket / parts;
    const found = isPlain(query)
      ? sql`looked as materialized (${sliced(sql`e.ts, e.stream_id, e.seq`, bucket, each)}), found as (
          select e.at, ''::text as of, e.sampled, e.weight from looked e where not e.sampled or e.nth <= ${each})`
      : sql`looked as materialized (${sliced(sql`e.*`, bucket, each)}), found as (
          select e.at, ${groupOf(by)} as of, e.sampled, e.weight from looked e join event_streams s on s.id = e.stream_id
          where (not e.sampled or e.nth <= ${each}) and ${ofCities(cities)} and ${matches(filter)} and ${tagged(cities)})`;
    return this.#points(
      query,
      sql`slices as (
        select n as begins, least(n + ${ms(slice)}, (select last from span)) as ends
        from generate_series((select first from span), (select last from span), ${ms(slice)}) as n
      ), ${found}`,
    );
  }

  async #points({ since, until, bucket, groups }: HistogramQuery, found: RawBuilder<unknown>): Promise<Histogram> {
    const { rows } = await sql<Histogram>`
      with span as materialized (
        select ${binned(bucket, sql`clock_timestamp() - ${ms(since)}`)} as first, clock_timestamp() - ${ms(until)} as last
      ), ${found}, summed as materialized (
        select f.at, f.of, sum(f.weight) as count, bool_or(f.sampled) as sampled from found f group by 1, 2
      ), ranked as (select f.of, row_number() over (order by sum(f.count) desc, f.of) as nth from summed f group by f.of),
      points as (
        select f.at, case when r.nth <= ${groups} then f.of end as of, round(sum(f.count))::bigint as count, min(r.nth) as nth
        from summed f join ranked r on r.of = f.of group by 1, 2
      )
      select span.first, span.last, coalesce((select bool_or(f.sampled) from summed f), false) as estimated, (
        select coalesce(json_agg(json_build_object('at', p.at, 'of', p.of, 'count', p.count) order by p.at, p.nth), '[]')
        from points p where p.count > 0) as points
      from span`.execute(this.db);
    return rows[0]!;
  }
}

/** The first events of each slice and one more, and how many each of them stands for. */
const sliced = (columns: RawBuilder<unknown>, bucket: number, each: number): RawBuilder<unknown> => sql`
  select r.*, case when r.sampled
    then extract(epoch from r.ends - r.begins) / greatest(1e-6, extract(epoch from r.reached - r.begins)) else 1 end::float8 as weight
  from (
    select ${binned(bucket, sql`e.ts`)} as at, w.begins, w.ends, e.*, row_number() over o as nth,
      count(*) over (partition by w.begins) > ${each} as sampled, max(e.ts) over (partition by w.begins) as reached
    from slices w cross join lateral (
      select ${columns} from events e where e.ts >= w.begins and e.ts < w.ends order by e.ts, e.stream_id, e.seq limit ${each} + 1
    ) e window o as (partition by w.begins order by e.ts, e.stream_id, e.seq)
  ) r`;

/** The place of the nth event after another. Few logs have had an epoch, and to ask the function takes longer than to find the event. */
const placeOfNth = (after: RawBuilder<unknown>, nth: RawBuilder<unknown>): RawBuilder<number> =>
  sql<number>`case when s.epoch_ends = '{}' then ${after} + ${nth} else log_seek(s.epoch_ends, ${after}, ${nth}) end`;

const countOf = ({ since, until, bucket }: Buckets): number => Math.ceil((since - until) / bucket) + 1;
const isPlain = ({ by, cities, filter }: HistogramQuery): boolean =>
  by === undefined && cities === undefined && filter.type === undefined && !isUnindexed(filter);
const groupOf = (by: HistogramQuery['by']): RawBuilder<unknown> => (by === undefined ? sql`''::text` : GROUPS[by]);
