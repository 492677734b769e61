import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { formatPlace, parsePlace } from '../work/page-token.js';
import type { Done } from '../work/work.service.js';
import { toWaitView } from './waits.mapper.js';
import { WaitsRepository } from './waits.repository.js';
import type { WaitListBody, WaitsQuery, WaitView } from './waits.schemas.js';

const CEILING = 1000;
const FINISHED = new Set(['closed', 'failed', 'expired', 'canceled']);

/** Waits as they are listed and shown. */
@Injectable()
export class WaitReadsService {
  constructor(
    private readonly repository: WaitsRepository,
    private readonly roster: RosterService,
  ) {}

  /** Newest first; finished waits only when a finished state or all are asked for. @throws ProblemError invalid_cursor */
  async list(city: CityScope, query: WaitsQuery): Promise<Done<WaitListBody>> {
    const from = parsePlace('wait', query.cursor);
    const limit = query.limit === 0 ? CEILING : query.limit;
    const sessions = query.session === undefined ? undefined : await this.#names(city, query.session);
    const finished = query.all || FINISHED.has(query.state ?? '');
    const { head, items, next } = await this.repository.page(city.streamId, { state: query.state, sessions, finished }, limit, from);
    const more = next === undefined ? {} : { next_cursor: formatPlace('wait', next) };
    return { value: { waits: items.map(toWaitView), capped: next !== undefined, ...more }, index: head };
  }

  /** @throws ProblemError wait_not_found */
  async get(city: CityScope, id: string): Promise<Done<WaitView>> {
    const { head, isWait, bead } = await this.repository.find(city.streamId, id);
    if (bead === null) throw problem('wait_not_found', id);
    if (!isWait) throw problem('wait_not_found', `${id} is not a wait`);
    return { value: toWaitView(bead), index: head };
  }

  /** What a session is called: as it is written, and as the agent that this names. */
  async #names(city: CityScope, session: string): Promise<string[]> {
    const agent = await this.roster.address(city.streamId, session);
    return agent === undefined ? [session] : [session, agent];
  }
}
