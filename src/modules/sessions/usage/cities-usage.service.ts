import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import type { CitiesUsageBody, UsageTotals } from '../../../contract/usage.schemas.js';
import { CitiesUsageRepository, type CityUsageRow, type CostRow } from './cities-usage.repository.js';
import type { CitiesUsageQuery } from './usage.schemas.js';
import { NOTHING, RECENT_SECONDS, REMOVED } from './usage.service.js';

/** What the cities use that a caller may see. */
@Injectable()
export class CitiesUsageService {
  constructor(private readonly repository: CitiesUsageRepository) {}

  async list({ cities, cursor = '', limit }: CitiesUsageQuery, caller: Principal): Promise<CitiesUsageBody> {
    const names = cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    const [rows, total] = await Promise.all([
      this.repository.page({ names, after: cursor, limit }, RECENT_SECONDS),
      this.repository.count(names),
    ]);
    const shown = rows.slice(0, limit);
    const missing = shown.flatMap(({ city, known, recorded, removed }) => [
      ...(known ? [] : [`the prices of city ${city} are not known yet`]),
      ...(removed && recorded ? [`city ${city}: ${REMOVED}`] : []),
    ]);
    return {
      items: shown.map(toItem),
      total,
      recent_window_secs: RECENT_SECONDS,
      ...(rows.length > limit ? { next_cursor: shown.at(-1)!.city } : {}),
      ...(missing.length === 0 ? {} : { partial: true, partial_reasons: missing }),
    };
  }

  /** What cities have cost today, by their streams. For other families. */
  async today(streamIds: readonly number[]): Promise<ReadonlyMap<number, CostRow>> {
    return new Map((await this.repository.today(streamIds)).map((row) => [row.streamId, row]));
  }
}

function toItem({ city, recorded, today, last_24h, recent }: CityUsageRow): CitiesUsageBody['items'][number] {
  const told = (usage: UsageTotals): UsageTotals => (recorded ? usage : NOTHING);
  return { city, recording: recorded, today: told(today), last_24h: told(last_24h), recent: told(recent) };
}
