import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
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
    private readonly config: ConfigReadsService,
    private readonly waiting: WaitingWork,
  ) {}

  /**
   * Its row now, or once the city's stream has moved beyond `index`.
   *
   * @throws ProblemError city_not_found for a city that is unknown, not running, or not for this caller: they look the same.
   */
  async row(name: string, query: StatusQuery, caller: Principal, gone: AbortSignal): Promise<StatusRow> {
    const row = await this.#load(name, query, caller);
    return (await this.heads.readAgain(name, row.head, query, gone)) ? this.#load(name, query, caller) : row;
  }

  /** Together: beside somebody who asks for much each statement that waits for another one is a turn more. */
  async body(row: StatusRow, { lite }: StatusQuery): Promise<StatusBody> {
    if (lite) return toStatus(row, lite, { total: 0, rows: [], pools: new Map<string, never>() }, []);
    const [resting, pools, waiting] = await Promise.all([
      this.repository.resting(row.name),
      this.emptyRuns.rests(row.stream_id, async () => (await this.config.known({ streamId: row.stream_id }))?.config),
      this.waiting.of(row.name, row),
    ]);
    return toStatus(row, lite, { ...resting, pools }, waiting);
  }

  async #load(name: string, { lite }: StatusQuery, caller: Principal): Promise<StatusRow> {
    const row = maySee(caller, name) ? await this.repository.load(name, !lite) : undefined;
    if (row === undefined) throw notRunning(name);
    return row;
  }
}
