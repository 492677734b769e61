import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db, PgPool } from '../../../platform/database/database.js';
import { KeptReads, versionText, type Versioned } from '../../../platform/database/kept-reads.js';
import { ANSWER_BYTES, fitted, fittingJson, type Fitted } from '../../../platform/database/page-bytes.js';
import { totalOf, type Count, type Total } from '../../../platform/database/totals.js';
import { inMicroseconds } from '../../../platform/database/microseconds.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { beadBytes, beadBytesText, summaryBytes } from '../work/bead-bytes.js';
import { matchesList, matchesReady } from './bead-filter.js';
import { inOrder, nearby, ofCity, ofTerms, walked, type AskedList, type BeadList } from './bead-list.js';
import { changedLast, mostUrgent, newest, type ListPlace } from './bead-order.js';
import type { BeadsQuery, ReadyQuery } from './beads.schemas.js';
import { RareTerms } from './rare-terms.js';
import type { ReadyPlace } from './ready-token.js';
import { beadJson, beadJsonText, beadSummaryJson } from '../work/bead-json.js';

export interface BeadRow {
  readonly json: string;
  /** Null when the city has no such bead. */
  readonly revision: number | null;
  readonly head: number;
}

/** A bead as it was asked for. One with edges has no version: they change without its row. */
interface SeenBead extends Versioned {
  /** Its place among those that were asked for, from 1. */
  readonly nth: number;
  readonly revision: number | null;
  readonly head: number;
}
interface AskedBead extends SeenBead {
  readonly json: string;
  readonly is_long: boolean | null;
}

/** About what a bead may have to be read together with others. */
const SHORT_BYTES = 16_384;

/** Which version of beads counts, by their keys, whatever the planner thinks of how many there are. */
const SEEN = `
  select asked.nth, s.head, b.revision, b.version
  from unnest((select $1::text[]), (select $2::text[])) with ordinality as asked(city, id, nth)
  cross join lateral (select c.stream_id from cities c where c.name = asked.city and c.running limit 1) c
  cross join lateral (select s.head from event_streams s where s.id = c.stream_id limit 1) s
  left join lateral (
    select b.revision, case when e.has is null then ${versionText('b')} end as version from beads b
    left join lateral (select true as has from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id limit 1) e on true
    where b.stream_id = c.stream_id and b.id = asked.id limit 1) b on true`;

/** The same beads whole. Most have no edges, and to make nothing of them twice took half of it. */
const BEADS = `
  select asked.nth, s.head, b.revision, b.version, b.is_long, b.json
  from unnest((select $1::text[]), (select $2::text[])) with ordinality as asked(city, id, nth)
  cross join lateral (select c.stream_id from cities c where c.name = asked.city and c.running limit 1) c
  cross join lateral (select s.head from event_streams s where s.id = c.stream_id limit 1) s
  left join lateral (
    select b.revision, l.is_long, case when e.has is null and not l.is_long then ${versionText('b')} end as version,
      case when l.is_long then null when b.claim_fence = 0 then j.json
        else left(j.json, -1) || ',"claim":' || json_strip_nulls(json_build_object('fence', b.claim_fence, 'attempts', nullif(b.attempts, 0), 'lease_until',
          to_char(b.lease_until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))::text || '}' end as json
    from beads b cross join lateral (select $3::integer is not null and ${beadBytesText('b')} > $3 as is_long) l
    left join lateral (select true as has from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id limit 1) e on true
    cross join lateral (select (case when l.is_long then null when e.has then ${beadJsonText('b')} else bead_json(b, null) end)::text as json) j
    where b.stream_id = c.stream_id and b.id = asked.id limit 1) b on true`;

/** Keys are a city and an id. */
function toPlaces(keys: readonly string[]): [cities: string[], ids: string[]] {
  const places = keys.map((key) => key.split('\n') as [city: string, id: string]);
  return [places.map(([city]) => city), places.map(([, id]) => id)];
}

export interface Page<P> {
  /** The JSON of the items, joined by commas. */
  readonly items: string;
  readonly total: Total;
  /** The last item's place, when there are more. */
  readonly next: P | undefined;
  readonly head: number;
}

export interface Children {
  readonly head: number;
  readonly found: boolean;
  readonly bytes: number;
  readonly items: string | null;
}

interface PageRow extends Fitted, Count {
  readonly head: number;
  readonly settled: boolean;
  readonly rare: boolean;
  readonly id: string | null;
  /** The instant of the order, and the priority where it is by that. */
  readonly at: string;
  readonly priority: number | null;
  readonly json: string;
}

/** Reads that answer requests. Each is one statement, so that the head belongs to the rows. */
@Injectable()
export class BeadsRepository {
  /** Of all cities: a long one is read in its city's own turn, so that the short ones of others do not wait for it. */
  readonly #beads = new KeptReads<string, AskedBead, SeenBead>(
    {
      seen: async (keys) => {
        const { rows } = await this.pool.query<SeenBead>({ name: 'beads-seen', text: SEEN, values: toPlaces(keys) });
        return rows.map((row) => [keys[row.nth - 1]!, row] as const);
      },
      whole: async (keys) => {
        const rows = await this.#whole(keys, SHORT_BYTES);
        return rows.map((row) => [keys[row.nth - 1]!, row] as const);
      },
      bytes: ({ json }) => json.length,
    },
    { most: 100, lanes: 2 },
  );

  readonly #rare = new RareTerms();

  constructor(
    private readonly db: Db,
    private readonly pool: PgPool,
  ) {}

  /** A bead of a running city; undefined when the city does not run. */
  async find(city: string, id: string): Promise<BeadRow | undefined> {
    const key = `${city}\n${id}`;
    // What is there has no line breaks in its names, and the key of one thing must not be that of another.
    const row = key.split('\n').length === 2 ? await this.#beads.read(key) : undefined;
    return row?.is_long === true ? (await this.#whole([key], null))[0] : row;
  }

  /** Without the JSON of those longer than `most` bytes. */
  async #whole(keys: readonly string[], most: number | null): Promise<AskedBead[]> {
    return (await this.pool.query<AskedBead>({ name: 'beads', text: BEADS, values: [...toPlaces(keys), most] })).rows;
  }

  /** In the order that is asked for; undefined when the city does not run. */
  async list(
    { streamId }: CityScope,
    query: BeadsQuery,
    limit: number,
    after: ListPlace | undefined,
  ): Promise<Page<ReadyPlace> | undefined> {
    const filter = matchesList(streamId, query);
    const { view, sort } = query;
    const order = { created_at: newest, updated_at: changedLast, priority: mostUrgent }[sort ?? 'created_at'](after);
    return this.#list(streamId, view, { filter, limit, order });
  }

  /** The most urgent first, then the oldest; undefined when the city does not run. */
  async ready({ streamId }: CityScope, query: ReadyQuery, after: ReadyPlace | undefined): Promise<Page<ReadyPlace> | undefined> {
    const { view, limit } = query;
    return this.#list(streamId, view, { filter: matchesReady(streamId, query), limit, order: mostUrgent(after) });
  }

  /**
   * The unclosed children of a bead, oldest first, then the roots that its metadata names; `found` is false without the bead.
   * `items` is null where one answer would not hold them.
   */
  async children({ streamId }: CityScope, id: string): Promise<Children | undefined> {
    const { rows } = await sql<Children>`
      select s.head, b.id is not null as found, coalesce(t.bytes, 0)::bigint as bytes, case when coalesce(t.bytes, 0) <= ${ANSWER_BYTES} then (
        select coalesce(string_agg(${beadJson('k')}::text, ',' order by o.n), '')
        from unnest(t.ids) with ordinality o(id, n) join beads k on k.stream_id = ${streamId} and k.id = o.id) end as items
      from event_streams s
      left join beads b on b.stream_id = s.id and b.id = ${id}
      left join lateral (
        select array_agg(k.id order by f.rank, k.created_at, k.id) as ids, sum(${beadBytes('k')}) as bytes
        from (
          select named.id, min(named.rank) as rank from (
            select c.id, 0 as rank from beads c where c.stream_id = ${streamId} and c.parent = ${id} and c.status <> 'closed'
            union all select b.metadata ->> 'molecule_id', 1
            union all select b.metadata ->> 'workflow_id', 2
          ) named group by named.id
        ) f
        join beads k on k.stream_id = ${streamId} and k.id = f.id
      ) t on b.id is not null
      where s.id = ${streamId} and exists (select from cities c where c.stream_id = s.id and c.running)`.execute(this.db);
    return rows[0];
  }

  /**
   * What is held comes in the order of most lists: one statement reads the page (in order).
   * By change it does not: the next beads are read, up to a bound (walked), and then, by any index, all of the city that may be meant (of the city).
   * Of a label or metadata the next ones are read, too (nearby), and then all that the index over terms has (of terms).
   * The first of these that fills the page, or reaches the end, answers.
   */
  async #list(streamId: number, view: BeadsQuery['view'], asked: AskedList): Promise<Page<ReadyPlace> | undefined> {
    const { terms, walk } = asked.filter;
    const read = (list: BeadList): Promise<readonly PageRow[]> => this.#page(streamId, view, asked, list);
    if (walk !== undefined) {
      const rows = await read(walked(asked, walk));
      return toPage(rows[0]?.settled === false ? await read(ofCity(asked)) : rows, asked);
    }
    if (terms.length === 0) return toPage(await read(inOrder(asked)), asked);
    if (!this.#rare.has(streamId, terms)) {
      const rows = await read(nearby(asked));
      if (rows[0]?.settled !== false) return toPage(rows, asked);
    }
    const rows = await read(ofTerms(streamId, asked));
    if (rows[0] !== undefined) this.#rare.note(streamId, terms, rows[0].rare);
    return toPage(rows, asked);
  }

  /** Finds the page's rows in an index where one has all that is asked for, and only then reads as many as one answer holds. */
  async #page(
    streamId: number,
    view: BeadsQuery['view'],
    { limit, order: { by, at, priority } }: AskedList,
    { first, found, count, settled, rare }: BeadList,
  ): Promise<readonly PageRow[]> {
    const isSummary = view === 'summary';
    const sized = sql`
      select b.*, y.bytes from (${found}) b
      cross join lateral (select ${isSummary ? summaryBytes('r') : beadBytes('r')} as bytes from beads r where r.stream_id = ${streamId} and r.id = b.id) y`;
    const json = sql`select ${isSummary ? beadSummaryJson('b') : beadJson('b')}::text as json from beads b where b.stream_id = ${streamId} and b.id = k.id`;
    const { rows } = await sql<PageRow>`
      ${first}
      select s.head, t.counted, t.looked, ${settled} as settled, ${rare} as rare, p.id, p.json, p.fits,
        ${inMicroseconds(at)} as at, ${priority}::integer as priority
      from event_streams s
      cross join lateral (${count}) t
      left join (${fittingJson(sized, by, limit, json)}) p on true
      where s.id = ${streamId} and exists (select from cities c where c.stream_id = s.id and c.running)
      order by p.nth`.execute(this.db);
    return rows;
  }
}

/** Undefined without any row: the city does not run. One row without a bead is an empty page. */
function toPage(found: readonly PageRow[], { order }: AskedList): Page<ReadyPlace> | undefined {
  const [first] = found;
  if (first === undefined) return undefined;
  const { rows, more } = fitted(first.id === null ? [] : found);
  const last = rows.at(-1);
  const next = more && last !== undefined ? { id: last.id!, createdAt: last.at, priority: last.priority ?? 2 } : undefined;
  const total = totalOf(first, rows.length, order.begins && !more);
  return { head: first.head, total, items: rows.map((row) => row.json).join(','), next };
}
