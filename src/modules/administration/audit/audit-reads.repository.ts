import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { fromMicroseconds } from '../../../platform/database/microseconds.js';
import type { AuditOutcome } from './audit.schemas.js';

/** Records that one page looks at for those that no index finds. */
const LOOKED_AT = 20_000;

export interface AuditFilter {
  /** Cities whose records the caller may see; undefined: all records, also those of no city. */
  readonly cities: readonly string[] | undefined;
  readonly city: string | undefined;
  readonly key: string | undefined;
  readonly operation: string | undefined;
  readonly outcome: AuditOutcome | undefined;
}

export interface AuditTimes {
  readonly requestId: string | undefined;
  readonly since: Date | undefined;
  readonly until: Date | undefined;
}

/** A place in the list, which goes by time: microseconds since 1970, then the order of writing. */
export interface Place {
  readonly us: number;
  readonly id: number;
}

/** A position of the stream, which is ordered by transactions: no record that is committed later comes before it. */
export interface Position {
  readonly xid: number;
  readonly id: number;
}

export interface AuditRow extends Place, Position {
  readonly matches: boolean;
  readonly at: string;
  readonly last_at: string | null;
  readonly count: number;
  readonly request_id: string | null;
  readonly actor: string | null;
  readonly key_id: string | null;
  readonly session_id: string | null;
  readonly session_city: string | null;
  readonly address: string | null;
  readonly operation: string | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly city: string | null;
  readonly ids: Record<string, string>;
  readonly status: number;
  readonly code: string | null;
  readonly reason: string | null;
  readonly operation_request_id: string | null;
}

const ISO = sql.lit('YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
const COLUMNS = sql`
  r.xid, r.id, (extract(epoch from r.at) * 1000000)::bigint as us, to_char(r.at, ${ISO}) as at, to_char(r.last_at, ${ISO}) as last_at, r.count,
  r.request_id, r.actor, r.key_id, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
  r.reason, r.operation_request_id`;
const KEY_ID = /^[0-9a-f]{12}$/;
/**
 * Up to this many cities are read one by one, and no record of others is looked at. A caller of more cities mostly sees most records. Then the newest FIRST records
 * of all are read first, or FIRST_EACH for each record of a large page, which probably have the page.
 */
const MOST_APART = 100;
const FIRST = 2_000;
const FIRST_EACH = 20;
const STATUSES = { accepted: [0, 399], refused: [400, 499], failed: [500, 599] } as const;

/** The cities whose records are asked for; undefined: all records, also those of no city. */
function citiesOf({ cities, city }: AuditFilter): readonly string[] | undefined {
  if (city === undefined) return cities && [...new Set(cities)];
  return cities === undefined || cities.includes(city) ? [city] : [];
}

/** One city is compared by equality: then its index gives the records in order, however many others there are since. */
const among = (cities: readonly string[]): RawBuilder<unknown> =>
  cities.length === 1 ? sql`r.city = ${cities[0]!}` : sql`r.city = any(${[...cities]}::text[])`;

/** Conditions that an index answers, within cities. */
function found({ key }: AuditFilter): RawBuilder<unknown>[] {
  return key !== undefined && KEY_ID.test(key) ? [sql`r.key_id = ${key}`] : [];
}

/** Conditions that no index answers: records have to be read to know. */
function looked({ key, operation, outcome }: AuditFilter): RawBuilder<unknown> | undefined {
  const [from, to] = STATUSES[outcome ?? 'accepted'];
  const parts = [
    ...(key !== undefined && !KEY_ID.test(key) ? [sql`r.actor = ${key}`] : []),
    ...(operation === undefined ? [] : [sql`r.operation = ${operation}`]),
    ...(outcome === undefined ? [] : [sql`r.status between ${from} and ${to}`]),
  ];
  return parts.length === 0 ? undefined : sql`coalesce(${sql.join(parts, sql` and `)}, false)`;
}

/** The newest records of very many cities: found among the newest of all records, and by `alone` when these have too few. */
function firstOfAll(fit: RawBuilder<unknown>, cities: readonly string[], alone: RawBuilder<unknown>, most: number): RawBuilder<unknown> {
  const first = Math.max(FIRST, FIRST_EACH * most);
  return sql`
    with seen as materialized (select r.at, r.id, r.city from audit_records r where ${fit} order by r.at desc, r.id desc limit ${first}),
    own as materialized (
      select r.at, r.id, true as matches, false as is_share from seen r where ${among(cities)} order by r.at desc, r.id desc limit ${most}
    ),
    enough as materialized (select (select count(*) from own) = ${most} or (select count(*) from seen) < ${first} as is_so)
    select o.* from own o where (select e.is_so from enough e)
    union all select a.* from (${alone}) a where not (select e.is_so from enough e)`;
}

/**
 * What is looked at for those that match, a share of it for each city. One that has more than its share hides what is older: of no city anything below the
 * newest such place counts. So where a page is not full above that, such cities have what others leave of theirs.
 */
function shared(
  named: RawBuilder<unknown>,
  ofShare: RawBuilder<unknown>,
  ofMore: RawBuilder<unknown>,
  { each, limit, lookedAt }: { readonly each: number; readonly limit: number; readonly lookedAt: number },
): RawBuilder<unknown> {
  return sql`
    with shares as materialized (select c.name, n.* from ${named} c(name) cross join lateral (${ofShare}) n),
    top as materialized (select s.at, s.id from shares s where s.is_share order by s.at desc, s.id desc limit 1),
    counts as materialized (
      select count(*) as looked, count(*) filter (where s.is_share) as full_ones,
        count(*) filter (where s.matches and (s.at, s.id) >= (coalesce(t.at, '-infinity'), coalesce(t.id, 0))) as matched
      from shares s left join top t on true
    ), more as materialized (
      select s.name from shares s, counts n where s.is_share and n.matched <= ${limit} and n.looked + n.full_ones <= ${lookedAt}
    ), larger as materialized (select ${each}::bigint + (${lookedAt}::bigint - n.looked) / greatest(1, n.full_ones) as share from counts n)
    select s.at, s.id, s.matches, s.is_share from shares s where s.name not in (select m.name from more m)
    union all select n.* from more c cross join lateral (${ofMore}) n`;
}

/** All reading of `audit_records`. */
@Injectable()
export class AuditReadsRepository {
  constructor(private readonly db: Db) {}

  /**
   * Newest first, below a place: up to `limit` that match, among the next `lookedAt` that indexes find, or one more than `limit` where
   * these find all. `last` is the last that was looked at, when there may be more behind it.
   */
  async page(
    filter: AuditFilter,
    { requestId, since, until }: AuditTimes,
    below: Place | undefined,
    limit: number,
    lookedAt = LOOKED_AT,
  ): Promise<{ items: AuditRow[]; last: AuditRow | undefined }> {
    const cities = citiesOf(filter);
    const matches = looked(filter);
    const most = matches === undefined ? limit + 1 : lookedAt;
    const conditions = [
      sql`true`,
      ...found(filter),
      ...(requestId === undefined ? [] : [sql`(r.request_id = ${requestId} or r.operation_request_id = ${requestId})`]),
      ...(since === undefined ? [] : [sql`r.at >= ${since}`]),
      ...(until === undefined ? [] : [sql`r.at < ${until}`]),
      ...(below === undefined ? [] : [sql`(r.at, r.id) < (${fromMicroseconds(below.us)}, ${below.id}::bigint)`]),
    ];
    // Whoever may see several cities reads nothing of what was done in all others since. The records of one request are found by its id, and
    // those of a key by its own.
    const isFound = requestId !== undefined || found(filter).length > 0;
    const isSeveral = cities !== undefined && cities.length > 1 && !isFound;
    // Of very many a share of what is looked at would be a handful.
    const isMany = isSeveral && cities.length > MOST_APART && matches === undefined;
    const apart = isSeveral && (cities.length <= MOST_APART || isMany);
    const each = apart && matches !== undefined ? Math.ceil(lookedAt / cities.length) : most;
    const fit = sql.join([...conditions, ...(apart || cities === undefined ? [] : [among(cities)])], sql` and `);
    const newest = (so: RawBuilder<unknown>): RawBuilder<unknown> => sql`
      select r.at, r.id, ${matches ?? sql`true`} as matches from audit_records r where ${apart ? sql`r.city = c.name and ` : sql``}${fit}
      order by r.at desc, r.id desc limit ${so}`;
    const ofCity = (so: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`select l.*, row_number() over (order by l.at desc, l.id desc) = ${so} as is_share from (${newest(so)}) l`;
    const named = apart ? sql`unnest(${[...cities]}::text[])` : sql`(values (null::text))`;
    const alone =
      each < most
        ? shared(named, ofCity(sql`${each}::bigint`), ofCity(sql`(select g.share from larger g)`), { each, limit, lookedAt })
        : sql`select n.*, false as is_share from ${named} c(name) cross join lateral (${newest(sql`${most}::bigint`)}) n`;
    const places = isMany ? firstOfAll(sql.join(conditions, sql` and `), cities, alone, most) : alone;
    const { rows } = await sql<AuditRow & { matched: number; is_edge: boolean }>`
      with places as materialized (select p.* from (${places}) p ${each < most ? sql`` : sql`order by p.at desc, p.id desc limit ${most}`}), edge as materialized (
        select p.at, p.id from places p where p.is_share order by p.at desc, p.id desc limit 1
      ), looked as materialized (
        select p.at, p.id, p.matches from places p where not exists (select from edge e where (p.at, p.id) < (e.at, e.id))
        order by p.at desc, p.id desc limit ${most}
      ), counted as (
        select l.*, count(*) filter (where l.matches) over w as matched,
          row_number() over w = ${most} or exists (select from edge e where e.at = l.at and e.id = l.id) as is_edge
        from looked l window w as (order by l.at desc, l.id desc rows unbounded preceding)
      )
      select ${COLUMNS}, n.matches, n.matched, n.is_edge from counted n
      cross join lateral (select r.* from audit_records r where r.at = n.at and r.id = n.id limit 1) r
      where (n.matches and n.matched <= ${limit}) or n.is_edge or (n.matches and n.matched = ${limit + 1})
      order by r.at desc, r.id desc`.execute(this.db);
    const items = rows.filter((row) => row.matches && row.matched <= limit);
    const beyond = rows.find((row) => row.matched > limit);
    const last = beyond !== undefined ? items.at(-1) : rows.find((row) => row.is_edge);
    return { items, last };
  }

  /**
   * Oldest first, above a position: those of the next `limit` that match, and the position behind all of these. None that commits
   * later comes before that: it stops below the oldest transaction that is still open, and time limits see to it that none stays so.
   */
  async after(
    filter: AuditFilter,
    { xid, id }: Position,
    limit: number,
  ): Promise<{ items: AuditRow[]; position: Position; more: boolean }> {
    const cities = citiesOf(filter);
    const parts = [...found(filter), ...(cities === undefined ? [] : [among(cities)])];
    const matches = sql.join([looked(filter) ?? sql`true`, ...parts.map((part) => sql`coalesce(${part}, false)`)], sql` and `);
    const { rows } = await sql<AuditRow>`
      select ${COLUMNS}, ${matches} as matches from audit_records r
      where (r.xid, r.id) > (${xid}::bigint, ${id}::bigint) and r.xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      order by r.xid, r.id limit ${limit}`.execute(this.db);
    const last = rows.at(-1);
    return {
      items: rows.filter((row) => row.matches),
      position: last === undefined ? { xid, id } : { xid: last.xid, id: last.id },
      more: rows.length === limit,
    };
  }

  /** The position of now: everything that commits later is above it. */
  async head(): Promise<Position> {
    const { rows } = await sql<{ xid: number }>`select pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 as xid`.execute(this.db);
    return { xid: rows[0]!.xid, id: Number.MAX_SAFE_INTEGER };
  }
}
