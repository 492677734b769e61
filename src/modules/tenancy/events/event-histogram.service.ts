import { Injectable } from '@nestjs/common';
import type { Indexed } from '../../../platform/http/indexed.js';
import { bucketsOf, MOST_BUCKETS, type Buckets } from '../../../contract/buckets.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { CityEventsRepository } from './city-events.repository.js';
import { toFilter } from './event-filter.js';
import { EventHistogramRepository, type Histogram, type HistogramQuery } from './event-histogram.repository.js';
import type { CityHistogramQuery, EventHistogramBody, SupervisorHistogramQuery } from './events.schemas.js';
import { ListLimits } from './list-limits.js';
import { cityNotRunning } from './problems.js';

const MOST_GROUPS = 20;

/** How many events there are over time: exact while they can be counted with so many looks, estimates beyond. */
@Injectable()
export class EventHistogramService {
  constructor(
    private readonly repository: EventHistogramRepository,
    private readonly streams: CityEventsRepository,
    private readonly limits: ListLimits,
  ) {}

  /** @throws ProblemError city_not_found, invalid_request */
  async city(name: string, query: CityHistogramQuery, caller: Principal): Promise<Indexed<EventHistogramBody>> {
    const stream = maySee(caller, name) ? await this.streams.runningStream(name) : undefined;
    if (stream === undefined) throw cityNotRunning(name);
    const buckets = bucketsOf(query);
    const found = await this.repository.ofStreams([stream.id], this.#query(query, buckets, undefined));
    return { index: stream.head, value: toBody(found, buckets, query.by) };
  }

  /** @throws ProblemError invalid_request */
  async supervisor(query: SupervisorHistogramQuery, caller: Principal): Promise<EventHistogramBody> {
    const cities = query.cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    const isLimited = caller.cities !== undefined;
    // What is read by time is of all cities, and how much that is tells of others: a limited key has longer buckets instead.
    const buckets = isLimited ? this.#longer(bucketsOf(query), cities!.length + 1) : bucketsOf(query);
    const asked = this.#query(query, buckets, cities);
    const windows = Math.floor((this.limits.windows * buckets.bucket) / (buckets.since - buckets.until));
    const most = isLimited ? cities!.length + 1 : Math.min(this.limits.fewStreams, windows);
    const streams = await this.repository.streams(cities, most);
    const found = await (streams === undefined ? this.repository.byTime(asked) : this.repository.ofStreams(streams, asked));
    return toBody(found, buckets, query.by);
  }

  /** Buckets so long that there are windows for so many streams. */
  #longer(buckets: Buckets, streams: number): Buckets {
    const least = ((buckets.since - buckets.until) * streams) / this.limits.windows;
    return { ...buckets, bucket: buckets.bucket * Math.max(1, Math.ceil(least / buckets.bucket)) };
  }

  #query(query: CityHistogramQuery, buckets: Buckets, cities: readonly string[] | undefined): HistogramQuery {
    const count = Math.ceil((buckets.since - buckets.until) / buckets.bucket) + 1;
    const groups = query.by === undefined ? 1 : Math.max(1, Math.min(MOST_GROUPS, Math.floor(MOST_BUCKETS / count) - 1));
    return { ...buckets, by: query.by, groups, filter: toFilter(query), cities, most: this.limits.looks };
  }
}

function toBody({ first, last, points, estimated }: Histogram, { bucket }: Buckets, by: string | undefined): EventHistogramBody {
  return {
    since: first.toISOString(),
    until: last.toISOString(),
    bucket_s: bucket / 1_000,
    points: points.map(({ at, of, count }) => ({
      at: new Date(at).toISOString(),
      count,
      ...(by === undefined ? {} : of === null ? { others: true } : { of }),
    })),
    total: points.reduce((sum, { count }) => sum + count, 0),
    ...(estimated ? { total_is_estimate: true } : {}),
  };
}
