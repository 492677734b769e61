import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { ANSWER_BYTES } from '../../../platform/database/page-bytes.js';
import { totalJson } from '../../../platform/database/totals.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { formatPlace, parsePlace, type Place } from '../work/page-token.js';
import type { Done } from '../work/work.service.js';
import type { BeadsOfType } from '../work/beads-of-type.js';
import { ConvoysRepository } from './convoys.repository.js';
import type { ConvoyCheckResponse, ConvoysQuery } from './convoys.schemas.js';
import { noConvoy, notAConvoy } from './problems.js';

const DEFAULT_PAGE = 100;
const LIST = 'convoy';

/** Reads of convoys. Bodies that hold beads are text: Postgres has already made their JSON. */
@Injectable()
export class ConvoyReadsService {
  constructor(
    private readonly repository: ConvoysRepository,
    private readonly heads: HeadWaiter,
  ) {}

  /** @throws ProblemError invalid_cursor; city_not_found when the city has stopped meanwhile. */
  async list(city: CityScope, query: ConvoysQuery, gone: AbortSignal): Promise<Done<string>> {
    const below = parsePlace(LIST, query.cursor);
    const limit = query.limit === 0 ? DEFAULT_PAGE : query.limit;
    let rows = await this.#rows(city, query, below, limit);
    if (await this.heads.readAgain(city.stream, rows.head, query, gone)) rows = await this.#rows(city, query, below, limit);
    const next = rows.next === undefined ? '' : `,"next_cursor":"${formatPlace(LIST, rows.next)}"`;
    return { value: `{"items":[${rows.items.join(',')}]${next},${totalJson(rows.total)}}`, index: rows.head };
  }

  /** The convoy with its members and how far they are. @throws ProblemError convoy_not_found; invalid_request for members too long for one answer. */
  async get(city: CityScope, id: string): Promise<Done<string>> {
    const row = await this.repository.find(city.streamId, id);
    if (row.type === null) throw noConvoy(id);
    if (row.type !== 'convoy') throw problem('convoy_not_found', `bead ${id} is not a convoy`);
    if (row.children === null)
      throw problem('invalid_request', `the members of convoy ${id} hold ${row.bytes} bytes, more than ${ANSWER_BYTES}`, {
        at: 'path.id',
        value: id,
      });
    const progress = `{"total":${row.total},"closed":${row.closed}}`;
    return { value: `{"convoy":${row.json},"children":${row.children},"progress":${progress}}`, index: row.head };
  }

  /** @throws ProblemError convoy_not_found, invalid_request. */
  async check(city: CityScope, id: string): Promise<Done<ConvoyCheckResponse>> {
    const { head, type, total, closed } = await this.repository.progress(city.streamId, id);
    if (type === null) throw noConvoy(id);
    if (type !== 'convoy') throw notAConvoy(id);
    return { value: { convoy_id: id, total, closed, complete: total > 0 && closed === total }, index: head };
  }

  async #rows(city: CityScope, query: ConvoysQuery, below: Place | undefined, limit: number): Promise<BeadsOfType> {
    const rows = await this.repository.list(city.streamId, query, below, limit);
    if (rows === undefined) throw problem('city_not_found', `city not found or not running: ${city.name}`);
    return rows;
  }
}
