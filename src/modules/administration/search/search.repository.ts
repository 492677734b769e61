import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';
import { isTooSlow } from '../../../platform/database/pg-errors.js';
import type { SearchKind } from './search.schemas.js';
import type { Wanted } from './search-words.js';

export interface HitRow {
  readonly city: string;
  readonly id: string;
  readonly title: string;
  readonly name: string | null;
  readonly state: string | null;
  /** 0: it is called so; 1: its name begins so; 2: its title does; 3: it has these words. */
  readonly rank: number;
}

export interface Found {
  readonly hits: readonly HitRow[];
  /** There is more than was looked at. */
  readonly cut: boolean;
  /** There was no time for words that only begin so. */
  readonly late?: boolean;
}
const NOTHING: Found = { hits: [], cut: false };

export interface SearchScope {
  /** Undefined: all that there are. */
  readonly cities: readonly string[] | undefined;
  /** Looks only at what is of these cities, and so tells nothing of any other. */
  readonly apart: boolean;
  readonly limit: number;
  readonly most: number;
}

/** How a kind with an index of words is looked for. */
interface Source {
  readonly rows: RawBuilder<unknown>;
  readonly words: RawBuilder<unknown>;
  /** The text that its words are of. */
  readonly said: RawBuilder<unknown>;
  /** What is shown at all, in the words of the index. */
  readonly shown: RawBuilder<unknown>;
  readonly names: RawBuilder<unknown>;
  readonly title: RawBuilder<unknown>;
  readonly hit: RawBuilder<unknown>;
}

const BEADS: Source = {
  rows: sql`beads x`,
  words: sql`search_words(array[x.id], x.title)`,
  said: sql`x.title`,
  shown: sql`true`,
  names: sql`array[x.id]`,
  title: sql`x.title`,
  hit: sql`x.id, x.title, null::text as name, x.status as state`,
};
const SESSIONS: Source = {
  rows: sql`sessions x`,
  words: sql`search_words(array[x.id, x.alias, x.session_name], x.alias || ' ' || x.title)`,
  said: sql`x.alias || ' ' || x.title`,
  shown: sql`x.state <> 'closed'`,
  names: sql`array[x.id, x.alias, x.session_name]`,
  title: sql`x.title`,
  hit: sql`x.id, x.title, nullif(x.alias, '') as name, case when x.state = 'active' and not x.live then 'asleep' else x.state end as state`,
};
const MAIL: Source = {
  rows: sql`messages x`,
  words: sql`search_words(array[x.id], x.subject)`,
  said: sql`x.subject`,
  shown: sql`x.archived_at is null`,
  names: sql`array[x.id]`,
  title: sql`x.subject`,
  hit: sql`x.id, x.subject as title, null::text as name, case when x.read_at is null then 'unread' else 'read' end as state`,
};

const among = (cities: readonly string[] | undefined): RawBuilder<boolean> =>
  sql<boolean>`(${cities === undefined} or c.name = any(${[...(cities ?? [])]}::text[]))`;

/** Beginnings are compared as they are, without any character that means something. */
function rankOf(text: string, names: RawBuilder<unknown>, title: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`case
    when exists (select from unnest(${names}) as n where lower(n) = lower(${text})) then 0
    when exists (select from unnest(${names}) as n where starts_with(lower(n), lower(${text}))) then 1
    when starts_with(lower(${title}), lower(${text})) then 2 else 3 end`;
}

/** Ends a transaction that the database has given up, with what was found before. */
class OutOfTime extends Error {
  constructor(readonly hits: readonly HitRow[]) {
    super('there was no time for words that only begin so');
  }
}

/** Looks through indexes of words, with bounds on what it looks at and for how long. */
@Injectable()
export class SearchRepository {
  constructor(private readonly db: Db) {}

  /** @throws the database's refusal when it takes too long to find anything. */
  look(kind: SearchKind, wanted: Wanted, scope: SearchScope, limitMs: number): Promise<Found> {
    const looking = this.db.transaction().execute(async (tx) => {
      const until = performance.now() + limitMs;
      await sql`select set_config('statement_timeout', ${String(limitMs)}, true), set_config('gin_fuzzy_search_limit', ${String(scope.most)}, true)`.execute(
        tx,
      );
      if (kind === 'city') return this.#cities(tx, wanted, scope);
      if (kind === 'agent') return this.#agents(tx, wanted, scope);
      if (kind === 'bead') return this.#worded(tx, BEADS, wanted, scope, until);
      if (kind === 'session') return this.#worded(tx, SESSIONS, wanted, scope, until);
      return this.#worded(tx, MAIL, wanted, scope, until);
    });
    return looking.catch((error: unknown) => {
      if (error instanceof OutOfTime) return { hits: error.hits, cut: false, late: true };
      throw error;
    });
  }

  async #worded(tx: Kysely<Database>, source: Source, wanted: Wanted, scope: SearchScope, until: number): Promise<Found> {
    const { text, query, whole, patterns } = wanted;
    const { cities, apart, limit, most } = scope;
    if (query === undefined) return NOTHING;
    const { rows: table, words, said, shown, names, title, hit } = source;
    const asked = async (fitting: string): Promise<Found> => {
      const fits = sql`${words} @@ lower(${fitting})::tsquery`;
      // To make the words of a text takes 50 µs. What has none of what is looked for, in any way, is passed over for a tenth of that. What is
      // said begins with an alias, which is of collation "C": in that, only letters of ASCII have a small one.
      const may = sql`(
      strpos(lower(array_to_string(${names}, ' ')), lower(${text})) > 0
      or ${patterns === undefined ? sql`false` : sql`lower((${said}) collate "default") like all (array(select lower(p) from unnest(${[...patterns]}::text[]) p))`})`;
      const each = apart ? Math.ceil(most / Math.max(1, cities?.length ?? 1)) : most;
      // Each of a caller's own cities is looked through, the newest first; without such a limit the index of all is, which stops early by itself,
      // but not that the statement is planned for all that fits.
      const looked = apart
        ? sql`
        select c.name as city, x.* from (select c.name, c.stream_id from cities c where c.running and ${among(cities)}) c cross join lateral (
          select x.*, case when ${may} then ${fits} else false end as fits from ${table} where x.stream_id = c.stream_id and ${shown} order by x.created_at desc limit ${each}
        ) x`
        : sql`
        select c.name as city, x.*, true as fits from ${table} join cities c on c.stream_id = x.stream_id and c.running and ${among(cities)}
        where ${shown} and ${fits} limit ${most}`;
      const { rows } = await sql<Omit<HitRow, 'id'> & { id: string | null; looked: number }>`
      with looked as materialized (${looked})
      select t.looked, h.* from (
        select coalesce(max(n.count), 0) as looked from (select count(*) as count from looked ${apart ? sql`group by city` : sql``}) n
      ) t left join (
        select x.city, ${hit}, ${rankOf(text, names, title)} as rank, x.created_at from looked x where x.fits
        order by rank, x.created_at desc, x.city, x.id limit ${limit}
      ) h on true order by h.rank, h.created_at desc, h.city, h.id`.execute(tx);
      // The limit of the index is a soft one: a part of what it has found is left out.
      const cut = rows[0]!.looked >= (apart ? each : most / 2);
      return { cut, hits: rows.filter((row): row is typeof row & HitRow => row.id !== null) };
    };
    // The index gathers all that has one of the words, and all that begins so; of whole words it gives what has all of them, and stops early. Where so
    // many have these that no more is looked at, nobody misses what only begins so.
    if (whole !== undefined && !apart) {
      const first = await asked(whole);
      if (first.cut) return first;
      // Both have one limit.
      const leftMs = Math.max(1, Math.ceil(until - performance.now()));
      await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(tx);
      return asked(query).catch((error: unknown) => {
        throw isTooSlow(error) && first.hits.length > 0 ? new OutOfTime(first.hits) : error;
      });
    }
    return asked(query);
  }

  async #cities(tx: Kysely<Database>, { text }: Wanted, { cities, limit }: SearchScope): Promise<Found> {
    const { rows } = await sql<HitRow>`
      select c.name as city, c.name as id, '' as title, null::text as name, case when c.running then 'running' else c.phase end as state,
        ${rankOf(text, sql`array[c.name]`, sql`''::text`)} as rank
      from cities c where ${among(cities)} and strpos(lower(c.name), lower(${text})) > 0 order by rank, c.name limit ${limit}`.execute(tx);
    return { hits: rows, cut: false };
  }

  async #agents(tx: Kysely<Database>, { text }: Wanted, { cities, limit }: SearchScope): Promise<Found> {
    const { rows } = await sql<HitRow>`
      select c.name as city, a.name as id, '' as title, null::text as name, null::text as state,
        ${rankOf(text, sql`array[a.name, a.base]`, sql`''::text`)} as rank
      from cities c join agents a on a.stream_id = c.stream_id and a.present and a.kind = 'agent'
      where c.running and ${among(cities)} and strpos(lower(a.name), lower(${text})) > 0
      order by rank, c.name, a.name limit ${limit}`.execute(tx);
    return { hits: rows, cut: false };
  }
}
