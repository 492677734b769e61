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
  /** How long one kind is looked for, in milliseconds. */
  readonly ms: number;
}
const LIMITS: SearchLimits = { ranked: 5_000, own: 20_000, ms: 1_000 };

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
    const found: [SearchKind, Found | undefined][] = [];
    // One after the other: a search is typed a letter at a time, and takes no more than one connection.
    for (const kind of SEARCH_KINDS)
      if (kinds === undefined || kinds.includes(kind)) found.push([kind, await this.#look(kind, wanted, scope, limits.ms)]);
    const hits = found.flatMap(([kind, of]) => (of?.hits ?? []).map((row) => [row.rank, toHit(kind, row)] as const));
    const why = found.flatMap(([kind, of]) => whyPartial(kind, of, scope));
    return {
      items: hits
        .toSorted(([a], [b]) => a - b)
        .slice(0, limit)
        .map(([, hit]) => hit),
      ...(why.length === 0 ? {} : { partial: true, partial_errors: why }),
    };
  }

  /** Undefined when it takes too long. */
  async #look(kind: SearchKind, wanted: Wanted, scope: SearchScope, ms: number): Promise<Found | undefined> {
    try {
      return await this.repository.look(kind, wanted, scope, ms);
    } catch (error) {
      if (isTooSlow(error)) return undefined;
      throw error;
    }
  }
}

function whyPartial(kind: SearchKind, found: Found | undefined, { apart, most }: SearchScope): string[] {
  if (found === undefined) return [`${kind}: this takes too long; more letters help`];
  if (!found.cut) return [];
  return [apart ? `${kind}: the newest ${most} were looked at` : `${kind}: too many fit; some of them were looked at`];
}

function toHit(kind: SearchKind, { city, id, title, name, state }: HitRow): SearchHit {
  return { kind, city, id, title, ...(name === null ? {} : { name }), ...(state === null ? {} : { state }) };
}
