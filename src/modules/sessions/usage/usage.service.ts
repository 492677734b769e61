import { Injectable } from '@nestjs/common';
import type { SessionUsageBody, UsageBody, UsageTotals } from '../../../contract/usage.schemas.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { Done } from '../../work/work/work.service.js';
import { isRecorded, pricesOf } from './prices.js';
import { UsageRepository } from './usage.repository.js';
import { zoneOf } from './zone.js';

export const RECENT_SECONDS = 3_600;
/** Why a sum is not all that was used. */
export const REMOVED = 'sessions of that time were deleted, and what they used with them';
export const NOTHING: UsageTotals = {
  invocations: 0,
  compute_facts: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_creation_tokens: 0,
  wall_seconds: 0,
  cost_usd_estimate: 0,
  unpriced: 0,
};

/** What a city and its sessions have used. */
@Injectable()
export class UsageService {
  constructor(
    private readonly config: ConfigReadsService,
    private readonly repository: UsageRepository,
    private readonly resolver: SessionResolver,
  ) {}

  async city(city: CityScope, aggregateOnly: boolean): Promise<Done<UsageBody>> {
    const { config, index } = await this.config.current(city);
    if (!isRecorded(config)) return { value: unavailable(), index };
    const found = await this.repository.city(city.streamId, {
      zone: zoneOf(config),
      recentSeconds: RECENT_SECONDS,
      prices: pricesOf(config),
    });
    const { today, last_24h, recent, by_session, by_agent, observed_from, removed, now } = found;
    const value: UsageBody = {
      available: true,
      recording: true,
      source: 'local_estimate',
      today,
      last_24h,
      recent,
      recent_window_secs: RECENT_SECONDS,
      ...(aggregateOnly ? {} : { recent_by_session: by_session, by_agent }),
      ...(observed_from === null ? {} : { observed_from: observed_from.toISOString() }),
      ...(removed ? { partial: true, partial_reasons: [REMOVED] } : {}),
      updated_at: now.toISOString(),
    };
    return { value, index };
  }

  /** @throws ProblemError session_not_found, ambiguous */
  async session(city: CityScope, text: string): Promise<Done<SessionUsageBody>> {
    const row = await this.resolver.resolve(city, text, { closed: true, materialize: false });
    const { config, index } = await this.config.current(city);
    const { total, last_24h, model, context_used, context_window, observed_from, now } = await this.repository.session(
      row.pk,
      pricesOf(config),
    );
    const recording = isRecorded(config);
    const value: SessionUsageBody = {
      session: row.session_name,
      session_id: row.id,
      recording,
      total: recording ? total : NOTHING,
      last_24h: recording ? last_24h : NOTHING,
      ...(model === null ? {} : { model }),
      ...(context_used === null ? {} : { context_used_tokens: context_used }),
      ...(context_window === null ? {} : { context_window_tokens: context_window }),
      ...(observed_from === null || !recording ? {} : { observed_from: observed_from.toISOString() }),
      updated_at: now.toISOString(),
    };
    return { value, index };
  }
}

function unavailable(): UsageBody {
  return {
    available: false,
    recording: false,
    source: 'unavailable',
    today: NOTHING,
    recent: NOTHING,
    recent_window_secs: RECENT_SECONDS,
    updated_at: new Date().toISOString(),
  };
}
