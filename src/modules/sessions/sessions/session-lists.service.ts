import { Injectable } from '@nestjs/common';
import type { ListBodySessionResponse, SessionResponse } from '../../../contract/sessions.schemas.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { heldItems } from '../../../platform/database/page-bytes.js';
import type { Indexed } from '../../../platform/http/indexed.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { CitiesService } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { formatPlace, parsePlace, type Place } from '../../work/work/page-token.js';
import { SessionAnswers } from './session-answers.service.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import { SessionViewsRepository } from './session-views.repository.js';
import { wantedStates, type SessionQuery, type SessionsQuery } from './sessions.query.js';

const PAGE = 100;
const PEEK_LINES = 5;

/** Sessions as they are listed and shown. */
@Injectable()
export class SessionLists {
  constructor(
    private readonly cities: CitiesService,
    private readonly repository: SessionViewsRepository,
    private readonly answers: SessionAnswers,
    private readonly resolver: SessionResolver,
    private readonly heads: HeadWaiter,
  ) {}

  /** Made, or changed, last first; now, or once the city's log has moved beyond `index`. @throws ProblemError invalid_cursor */
  async list(city: CityScope, query: SessionsQuery, gone: AbortSignal): Promise<Indexed<ListBodySessionResponse>> {
    const after = placeOf(kindOf(query), query.cursor);
    const answer = await this.#page(city, query, after);
    return (await this.heads.readAgain(city.stream, answer.index, query, gone)) ? this.#page(city, query, after) : answer;
  }

  /** @throws ProblemError city_not_found, session_not_found, ambiguous */
  async get(name: string, text: string, { peek, peek_lines: lines }: SessionQuery, caller: Principal): Promise<Indexed<SessionResponse>> {
    const byId = !peek && maySee(caller, name) ? await this.answers.byId(name, text) : undefined;
    return byId ?? this.#named(await this.cities.requireRunning(name, caller), text, peek ? (lines ?? PEEK_LINES) : undefined);
  }

  async #named(city: CityScope, text: string, lines: number | undefined): Promise<Indexed<SessionResponse>> {
    const { pk, id } = await this.resolver.resolve(city, text, { closed: true, materialize: false });
    return this.answers.of(city, pk, id, lines === undefined ? {} : { lines });
  }

  async #page(city: CityScope, query: SessionsQuery, after: Place | undefined): Promise<Indexed<ListBodySessionResponse>> {
    const limit = query.limit === 0 ? PAGE : query.limit;
    const lines = query.peek ? PEEK_LINES : undefined;
    const { state, template, rig, provider, kind, running, pending, sort: by } = query;
    const filter = { states: wantedStates(state), template, rig, provider, kind, running, pending, by };
    const { head, total, rows, more } = await this.repository.page(city.streamId, filter, limit, after, lines ?? 0);
    const all = await this.answers.all(city, rows, lines);
    // What the configuration adds to each is not in the rows.
    const items = all.slice(0, heldItems(all));
    const last = more || items.length < all.length ? rows[items.length - 1] : undefined;
    const next = last === undefined ? {} : { next_cursor: formatPlace(kindOf(query), { createdAt: last.place, id: String(last.pk) }) };
    return { value: { items, ...total, ...next }, index: head };
  }
}

/** A cursor belongs to its order. */
const kindOf = ({ sort }: SessionsQuery): string => (sort === 'updated_at' ? 'session-changed' : 'session');

function placeOf(kind: string, cursor: string | undefined): Place | undefined {
  const place = parsePlace(kind, cursor);
  if (place !== undefined && !/^\d{1,15}$/.test(place.id))
    throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
  return place;
}
