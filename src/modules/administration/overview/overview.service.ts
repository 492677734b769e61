import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { Db } from '../../../platform/database/database.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { CitiesUsageService } from '../../sessions/usage/cities-usage.service.js';
import { OverviewRepository, type OverviewRow } from './overview.repository.js';
import type { OverviewCity, OverviewOutputBody, OverviewQuery, OverviewTotals } from './overview.schemas.js';

/** Unfinished beads that one answer counts: of all cities together, and of those on its page. Twice as many take 40 ms. */
const MOST_BEADS = 50_000;
/** Of a city at least so many, however many cities there are. */
const OF_A_CITY = 1_000;

/** All cities that a caller may see, in numbers. */
@Injectable()
export class OverviewService {
  constructor(
    private readonly db: Db,
    private readonly repository: OverviewRepository,
    private readonly usage: CitiesUsageService,
    private readonly eventLog: EventLog,
  ) {}

  async overview({ cities, cursor, limit }: OverviewQuery, caller: Principal, most = MOST_BEADS): Promise<OverviewOutputBody> {
    const names = cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    // Before anything is counted.
    const event_cursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const all = await this.repository.count(names);
    const each = Math.max(Math.min(OF_A_CITY, most), Math.floor(most / Math.max(1, Math.min(limit, all))));
    const [rows, totals] = await Promise.all([
      this.repository.page({ names, after: cursor ?? '', limit, most: each }),
      cursor === undefined ? this.#totals(names, most) : undefined,
    ]);
    const shown = rows.slice(0, limit);
    const costs = await this.usage.today(shown.map(({ stream_id }) => stream_id));
    return {
      event_cursor,
      items: shown.map((row) => toItem(row, costs.get(row.stream_id))),
      total: totals?.cities ?? all,
      ...(totals === undefined ? {} : { totals }),
      ...(rows.length > limit ? { next_cursor: shown.at(-1)!.name } : {}),
    };
  }

  async #totals(names: readonly string[] | undefined, most: number): Promise<OverviewTotals> {
    const { seen, ...totals } = await this.repository.totals(names, most);
    return { ...totals, ...(seen > most ? { total_is_estimate: true } : {}) };
  }
}

function toItem(row: OverviewRow, today: { readonly cost: number; readonly unpriced: number } | undefined): OverviewCity {
  const { stream_id: _, phase, error, config_error, head, last_ts, more, ...item } = row;
  return {
    ...item,
    status: row.running ? 'running' : phase,
    ...(error === null || row.running ? {} : { error }),
    ...(config_error === null ? {} : { config_error }),
    cost_today_usd: today?.cost ?? 0,
    unpriced_today: today?.unpriced ?? 0,
    ...(last_ts === null ? {} : { last_event: { seq: head, ts: last_ts.toISOString() } }),
    ...(more ? { total_is_estimate: true } : {}),
  };
}
