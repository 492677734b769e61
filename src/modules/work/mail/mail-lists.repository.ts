import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { fitted, fittingJson, type Fitted } from '../../../platform/database/page-bytes.js';
import { counting, totalOf, type Count, type Total } from '../../../platform/database/totals.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Place } from '../work/page-token.js';
import { matches, type MailFilter } from './mail-filter.js';

export interface MailPage {
  readonly head: number;
  readonly total: Total;
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

interface PageRow extends Fitted, Count {
  readonly head: number;
  readonly id: string | null;
  readonly at: string | null;
  readonly json: string | null;
}

/** Of the copies of a message; a thousand addresses are a quarter of a megabyte. Long lists are compressed. */
const CC_BYTES = sql<number>`case when pg_column_compression(m.cc) is null then pg_column_size(m.cc) else octet_length(m.cc::text) end`;
const COMES_AFTER = { asc: sql`>`, desc: sql`<` };

/** The text of a message for its reader: what `MailAddresses.answered` finds nobody for says so. Events never tell it. */
const readJson = (message: RawBuilder<unknown>, tag: string): RawBuilder<string> => sql`case when (${message}).sender_principal is null
  then (message_json(${message}, ${tag})::jsonb || '{"answerable": false}')::text else message_json(${message}, ${tag})::text end`;

/** What answers requests. Each is one statement that also reads the head of the city's log; undefined when the city does not run. */
@Injectable()
export class MailListsRepository {
  constructor(private readonly db: Db) {}

  async page(city: CityScope, filter: MailFilter, { order, after, limit, tag }: PageRequest): Promise<MailPage | undefined> {
    const { held, looked } = matches(city.streamId, filter);
    const counted = counting(
      sql`select from messages m where ${held}`,
      looked && sql`select ${looked} as fits from messages m where ${held} order by m.created_at desc, m.id desc`,
    );
    const by = sql.raw(`created_at ${order}, id ${order}`);
    const rest =
      after === undefined ? sql`true` : sql`(m.created_at, m.id) ${COMES_AFTER[order]} (${fromMicroseconds(after.createdAt)}, ${after.id})`;
    const found = sql`
      select m, m.created_at, m.id, 500 + octet_length(m.body) + ${CC_BYTES} as bytes from messages m
      where ${held} and ${looked ?? sql`true`} and ${rest} order by ${by} limit ${limit + 1}`;
    const { rows } = await sql<PageRow>`
      select s.head, t.counted, t.looked, p.id, ${inMicroseconds(sql`p.created_at`)} as at, p.json, p.fits
      from cities c join event_streams s on s.id = c.stream_id
      cross join lateral (${counted}) t
      left join (${fittingJson(found, by, limit, sql`select ${readJson(sql`k.m`, tag)} as json`)}) p on true
      where c.id = ${city.id} and c.running order by p.nth`.execute(this.db);
    const [first] = rows;
    if (first === undefined) return undefined;
    const page = fitted(first.id === null ? [] : rows);
    const last = page.rows.at(-1);
    return {
      head: first.head,
      total: totalOf(first, page.rows.length, after === undefined && !page.more),
      items: page.rows.map((row) => row.json!),
      more: page.more && last !== undefined ? { createdAt: last.at!, id: last.id! } : undefined,
    };
  }

  /** Of one mailbox, or all; no filter that every message would have to be looked at for. */
  async count(city: CityScope, filter: Omit<MailFilter, 'from' | 'text'>): Promise<MailCounts | undefined> {
    const { rows } = await sql<MailCounts>`
      select s.head, t.total, t.unread from cities c join event_streams s on s.id = c.stream_id
      cross join lateral (
        select count(*) as total, count(*) filter (where m.read_at is null) as unread from messages m
        where ${matches(city.streamId, filter).held}) t
      where c.id = ${city.id} and c.running`.execute(this.db);
    return rows[0];
  }

  /** `json` is null when there is no such message to fetch. */
  async find(city: CityScope, id: string, tag: string): Promise<{ head: number; json: string | null } | undefined> {
    const { rows } = await sql<{ head: number; json: string | null }>`
      select s.head, (
        select ${readJson(sql`m`, tag)} from messages m
        where m.stream_id = ${city.streamId} and m.id = ${id} and (message_is_open(m) or m.archived_as = 'swept')) as json
      from cities c join event_streams s on s.id = c.stream_id where c.id = ${city.id} and c.running`.execute(this.db);
    return rows[0];
  }
}
