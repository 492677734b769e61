import { Injectable } from '@nestjs/common';
import { bucketsOf, MOST_BUCKETS } from '../../../contract/buckets.js';
import type { UsageSeriesBody } from '../../../contract/usage.schemas.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Done } from '../../work/work/work.service.js';
import { isRecorded, pricesOf } from './prices.js';
import type { UsageSeriesQuery } from './usage.schemas.js';
import { UsageSeriesRepository } from './usage-series.repository.js';
import { REMOVED } from './usage.service.js';
import { zoneOf } from './zone.js';

/** Turns that one answer looks at. */
const MOST_TURNS = 200_000;
const MOST_GROUPS = 20;
const DAY_MS = 86_400_000;

/** What a city has used over time. */
@Injectable()
export class UsageSeriesService {
  constructor(
    private readonly config: ConfigReadsService,
    private readonly repository: UsageSeriesRepository,
  ) {}

  /** @throws ProblemError invalid_request */
  async city(city: CityScope, query: UsageSeriesQuery, most = MOST_TURNS): Promise<Done<UsageSeriesBody>> {
    const buckets = bucketsOf(query);
    const { config, index } = await this.config.current(city);
    const count = Math.ceil((buckets.since - buckets.until) / buckets.bucket) + 1;
    const found = await this.repository.city(city.streamId, {
      ...buckets,
      // Days begin where people live; hours do so everywhere, but for a few.
      zone: buckets.bucket % DAY_MS === 0 ? zoneOf(config) : 'UTC',
      by: query.by,
      groups: query.by === undefined ? 1 : Math.max(1, Math.min(MOST_GROUPS, Math.floor(MOST_BUCKETS / count) - 1)),
      most,
      prices: pricesOf(config),
    });
    const points = isRecorded(config) ? found.points : [];
    const missing = [...(found.cut ? [`there are older turns: the newest ${most} are counted`] : []), ...(found.removed ? [REMOVED] : [])];
    const value = {
      since: found.first.toISOString(),
      until: found.last.toISOString(),
      bucket_s: buckets.bucket / 1_000,
      points: points.map(({ at, of, usage }) => ({
        at: new Date(at).toISOString(),
        ...(query.by === undefined ? {} : of === null ? { others: true } : { of }),
        ...usage,
      })),
      ...(missing.length > 0 ? { partial: true, partial_reasons: missing } : {}),
    };
    return { value, index };
  }
}
