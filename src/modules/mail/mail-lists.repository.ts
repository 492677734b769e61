import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../platform/database/database.js';
import type { CityScope } from '../cities/city-scope.js';
import type { Place } from '../work/page-token.js';
import { matches, type MailFilter } from './mail-filter.js';

export interface MailPage {
  readonly head: number;
  readonly total: number;
  /** The messages' JSON. */
  readonly items: readonly string[];
  /** The last message of the page when more follow. */
  readonly more: Place | undefined;
}

export interface MailCounts {
  readonly head: number;
  readonly total: number;
  readonly unread: number;
}

export interface PageRequest {
  readonly order: 'asc' | 'desc';
  readonly after: Place | undefined;
  readonly limit: number;
  /** What messages without a tag of their own are tagged with. */
  readonly tag: string;
}

interface PageRow {
  readonly head: number;
  readonly total: number;
  readonly found: number | null;
  readonly id: string | null;
  readonly at: string | null;
  readonly json: string | null;
}

/** A page ends early once the bodies on it are this long together: a thousand of the longest would be 256 MiB. */
const PAGE_BYTES = 8 * 1024 * 1024;

const COMES_AFTER = { asc: sql`>`, desc: sql`<` };
const micros = (text: string): RawBuilder<Date> => sql`timestamptz 'epoch' + ${text}::bigint * interval '1 microsecond'`;

/** What answers requests. Each is one statement that also reads the head of the city's log; undefined when the city does not run. */
@Injectable()
export class MailListsRepository {
  constructor(private readonly db: Db) {}

  async page(city: CityScope, filter: MailFilter, { order, after, limit, tag }: PageRequest): Promise<MailPage | undefined> {
    const where = matches(city.streamId, filter);
    const by = sql.raw(`created_at ${order}, id ${order}`);
    const rest =
      after === undefined ? sql`true` : sql`(m.created_at, m.id) ${COMES_AFTER[order]} (${micros(after.createdAt)}, ${after.id})`;
    const { rows } = await sql<PageRow>`
      select s.head, t.total, p.found, p.id, p.at, p.json
      from cities c join event_streams s on s.id = c.stream_id
      cross join lateral (select count(*) as total from messages m where ${where}) t
      left join lateral (
        select (y.m).id, (extract(epoch from (y.m).created_at) * 1000000)::bigint::text as at, y.place, y.found,
               message_json(y.m, ${tag})::text as json
        from (
          select x.m, row_number() over w as place, count(*) over () as found,
                 sum(octet_length((x.m).body)) over w - octet_length((x.m).body) as bytes_before
          from (select m, m.created_at, m.id from messages m where ${where} and ${rest} order by ${by} limit ${limit + 1}) x
          window w as (order by ${by} rows unbounded preceding)
        ) y where y.place <= ${limit} and y.bytes_before < ${PAGE_BYTES}
      ) p on true
      where c.id = ${city.id} and c.running order by p.place`.execute(this.db);
    const [first] = rows;
    if (first === undefined) return undefined;
    const { head, total } = first;
    if (first.id === null) return { head, total, items: [], more: undefined };
    const last = rows.at(-1)!;
    const more = first.found! > rows.length ? { createdAt: last.at!, id: last.id! } : undefined;
    return { head, total, items: rows.map((row) => row.json!), more };
  }

  async count(city: CityScope, filter: MailFilter): Promise<MailCounts | undefined> {
    const { rows } = await sql<MailCounts>`
      select s.head, t.total, t.unread from cities c join event_streams s on s.id = c.stream_id
      cross join lateral (
        select count(*) as total, count(*) filter (where m.read_at is null) as unread from messages m
        where ${matches(city.streamId, filter)}) t
      where c.id = ${city.id} and c.running`.execute(this.db);
    return rows[0];
  }

  /** `json` is null when there is no such message to fetch. */
  async find(city: CityScope, id: string, tag: string): Promise<{ head: number; json: string | null } | undefined> {
    const { rows } = await sql<{ head: number; json: string | null }>`
      select s.head, (
        select message_json(m, ${tag})::text from messages m
        where m.stream_id = ${city.streamId} and m.id = ${id} and (message_is_open(m) or m.archived_as = 'swept')) as json
      from cities c join event_streams s on s.id = c.stream_id where c.id = ${city.id} and c.running`.execute(this.db);
    return rows[0];
  }
}
