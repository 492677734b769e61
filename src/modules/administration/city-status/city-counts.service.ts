import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import { EmptyRunsService } from '../../sessions/session-store/empty-runs.service.js';
import { toStatus } from './city-counts.mapper.js';
import { CityCountsRepository, type StatusRow } from './city-counts.repository.js';
import type { StatusBody, StatusQuery } from './city-status.schemas.js';
import { WaitingWork } from './city-waiting.js';

/** What a city has, in numbers. */
@Injectable()
export class CityCounts {
  constructor(
    private readonly repository: CityCountsRepository,
    private readonly heads: HeadWaiter,
    private readonly emptyRuns: EmptyRunsService,
    private readonly waiting: WaitingWork,
  ) {}

  /**
   * Its counts now, or once the city's stream has moved beyond `index`.
   *
   * @throws ProblemError city_not_found for a city that is unknown, not running, or not for this caller: they look the same.
   */
  async status(
    name: string,
    query: StatusQuery,
    caller: Principal,
    gone: AbortSignal,
  ): Promise<{ head: number; streamId: number; body: StatusBody }> {
    let row = await this.#load(name, query, caller);
    if (await this.heads.readAgain(name, row.head, query, gone)) row = await this.#load(name, query, caller);
    const resting = query.lite ? { total: 0, rows: [] } : await this.repository.resting(name);
    const pools = query.lite ? new Map<string, never>() : await this.emptyRuns.rests(row.stream_id);
    const waiting = query.lite ? [] : await this.waiting.of(name, row);
    return { head: row.head, streamId: row.stream_id, body: toStatus(row, query.lite, { ...resting, pools }, waiting) };
  }

  async #load(name: string, { lite }: StatusQuery, caller: Principal): Promise<StatusRow> {
    const row = maySee(caller, name) ? await this.repository.load(name, !lite) : undefined;
    if (row === undefined) throw notRunning(name);
    return row;
  }
}
