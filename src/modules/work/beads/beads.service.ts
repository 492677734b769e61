import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { BlockingRead } from '../../../contract/query.js';
import { ANSWER_BYTES } from '../../../platform/database/page-bytes.js';
import { totalJson } from '../../../platform/database/totals.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { TOKENS } from './bead-order.js';
import { BeadsRepository, type Page } from './beads.repository.js';
import type { BeadsQuery, ReadyQuery } from './beads.schemas.js';
import { formatReadyPlace, parseReadyPlace } from './ready-token.js';

/** A body made by Postgres, and the head of the city's log that belongs to it. */
export interface Answer {
  readonly json: string;
  readonly index: number;
}

const DEFAULT_PAGE = 100;

/** Reads of beads. */
@Injectable()
export class BeadsService {
  constructor(
    private readonly repository: BeadsRepository,
    private readonly heads: HeadWaiter,
  ) {}

  /** @throws ProblemError city_not_found, bead_not_found */
  async get(city: string, id: string, caller: Principal): Promise<Answer & { readonly revision: number }> {
    const row = maySee(caller, city) ? await this.repository.find(city, id) : undefined;
    if (row === undefined) throw notRunning(city);
    if (row.revision === null) throw problem('bead_not_found', `bead ${id} not found`);
    return { json: row.json, revision: row.revision, index: row.head };
  }

  /** @throws ProblemError invalid_cursor, city_not_found */
  list(city: CityScope, query: BeadsQuery, gone: AbortSignal): Promise<Answer> {
    const { parse, format } = TOKENS[query.sort ?? 'created_at'];
    const after = parse(query.cursor);
    const limit = query.limit === 0 ? DEFAULT_PAGE : query.limit;
    return this.#read(city, query, gone, () => this.repository.list(city, query, limit, after), format);
  }

  /** @throws ProblemError invalid_cursor, city_not_found */
  ready(city: CityScope, query: ReadyQuery, gone: AbortSignal): Promise<Answer> {
    const after = parseReadyPlace(query.cursor);
    return this.#read(
      city,
      query,
      gone,
      () => this.repository.ready(city, query, after),
      (place) => formatReadyPlace(place),
    );
  }

  /** @throws ProblemError bead_not_found, city_not_found; invalid_request for children too long for one answer. */
  async children(city: CityScope, id: string): Promise<Answer> {
    const row = await this.repository.children(city, id);
    if (row === undefined) throw notRunning(city.name);
    if (!row.found) throw problem('bead_not_found', `bead ${id} not found`);
    if (row.items === null)
      throw problem('invalid_request', `the children of ${id} hold ${row.bytes} bytes, more than ${ANSWER_BYTES}`, {
        at: 'path.id',
        value: id,
      });
    return { json: `{"children":[${row.items}]}`, index: row.head };
  }

  /** A page now, or once the city's log has moved beyond `index`. */
  async #read<P>(
    city: CityScope,
    blocking: BlockingRead,
    gone: AbortSignal,
    look: () => Promise<Page<P> | undefined>,
    token: (place: P) => string,
  ): Promise<Answer> {
    let page = await look();
    if (page !== undefined && (await this.heads.readAgain(city.stream, page.head, blocking, gone))) page = await look();
    if (page === undefined) throw notRunning(city.name);
    const next = page.next === undefined ? '' : `,"next_cursor":"${token(page.next)}"`;
    return { json: `{"items":[${page.items}]${next},${totalJson(page.total)}}`, index: page.head };
  }
}
