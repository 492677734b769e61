import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { isTooSlow } from '../../../platform/database/pg-errors.js';
import { SearchRepository, type Found, type HitRow, type SearchScope } from './search.repository.js';
import { SEARCH_KINDS, type SearchHit, type SearchKind, type SearchOutputBody, type SearchQuery } from './search.schemas.js';
import { wantedOf, type Wanted } from './search-words.js';

export interface SearchLimits {
  /** Hits of a kind that are ranked, and things of a caller's own cities that are looked at. */
  readonly ranked: number;
  readonly own: number;
  /** Of the caller's own so many are looked at first: how long that takes says how many more there is time for. */
  readonly first: number;
  /** How long one kind is looked for, in milliseconds. */
  readonly ms: number;
}
const LIMITS: SearchLimits = { ranked: 5_000, own: 20_000, first: 2_000, ms: 1_000 };

/** Finds what a caller may see by a name, or by words. */
@Injectable()
export class SearchService {
  constructor(private readonly repository: SearchRepository) {}

  async search({ q, kinds, cities, limit }: SearchQuery, caller: Principal, limits = LIMITS): Promise<SearchOutputBody> {
    const visible = cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    if (q === '') return { items: [] };
    // Whether the index has more than was looked at says something of others, too: a limited key does not get to know.
    const apart = caller.cities !== undefined;
    const scope = { cities: visible, apart, limit, most: apart ? limits.own : limits.ranked };
    const wanted = wantedOf(q);
    const found: [SearchKind, Looked][] = [];
    // One after the other: a search is typed a letter at a time, and takes no more than one connection.
    for (const kind of SEARCH_KINDS)
      if (kinds === undefined || kinds.includes(kind)) found.push([kind, await this.#look(kind, wanted, scope, limits)]);
    const hits = found.flatMap(([kind, { of }]) => (of?.hits ?? []).map((row) => [row.rank, toHit(kind, row)] as const));
    const why = found.flatMap(([kind, looked]) => whyPartial(kind, looked, apart));
    return {
      items: hits
        .toSorted(([a], [b]) => a - b)
        .slice(0, limit)
        .map(([, hit]) => hit),
      ...(why.length === 0 ? {} : { partial: true, partial_errors: why }),
    };
  }

  /**
   * Of a caller's own cities the newest are looked at first, and then as many as there is time for, until half of it is used: what was found is kept,
   * whatever the rest takes. Each look is at all of them, so that hits are ranked in one place.
   */
  async #look(kind: SearchKind, wanted: Wanted, scope: SearchScope, { first, ms }: SearchLimits): Promise<Looked> {
    const begun = performance.now();
    let most = scope.apart ? Math.min(first, scope.most) : scope.most;
    let of = await this.#lookAt(kind, wanted, { ...scope, most }, ms);
    for (let since = begun; of?.cut === true && most < scope.most;) {
      const now = performance.now();
      const more = Math.min(scope.most, Math.floor((most * (ms / 2 - (now - begun))) / Math.max(1, now - since)));
      since = now;
      const all =
        more < 2 * most && more < scope.most ? undefined : await this.#lookAt(kind, wanted, { ...scope, most: more }, Math.ceil(ms / 2));
      if (all === undefined) break;
      [of, most] = [all, more];
    }
    return { of, most };
  }

  /** Undefined when it takes too long. */
  async #lookAt(kind: SearchKind, wanted: Wanted, scope: SearchScope, ms: number): Promise<Found | undefined> {
    try {
      return await this.repository.look(kind, wanted, scope, ms);
    } catch (error) {
      if (isTooSlow(error)) return undefined;
      throw error;
    }
  }
}

/** What one kind has come to. */
interface Looked {
  /** Undefined when it took too long. */
  readonly of: Found | undefined;
  /** What was looked at, at the most. */
  readonly most: number;
}

function whyPartial(kind: SearchKind, { of, most }: Looked, apart: boolean): string[] {
  if (of === undefined) return [`${kind}: this takes too long; ${apart ? 'try again later' : 'more letters help'}`];
  if (of.late === true) return [`${kind}: words that only begin so take too long; more letters help`];
  if (!of.cut) return [];
  return [apart ? `${kind}: the newest ${most} were looked at` : `${kind}: too many fit; some of them were looked at`];
}

function toHit(kind: SearchKind, { city, id, title, name, state }: HitRow): SearchHit {
  return { kind, city, id, title, ...(name === null ? {} : { name }), ...(state === null ? {} : { state }) };
}
