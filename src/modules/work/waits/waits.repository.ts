import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Bead } from '../../../contract/beads.schemas.js';
import { Db } from '../../../platform/database/database.js';
import { fitted, fittingJson, type Fitted } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import { beadBytes } from '../work/bead-bytes.js';
import type { Place } from '../work/page-token.js';
import { beadJson } from '../work/bead-json.js';

export interface WaitFilter {
  readonly state: string | undefined;
  /** Any of these; undefined means everybody's. */
  readonly sessions: readonly string[] | undefined;
  readonly finished: boolean;
}

export interface WaitPage {
  readonly head: number;
  /** Newest first. */
  readonly items: readonly Bead[];
  /** The last one's, when there are more. */
  readonly next: Place | undefined;
}

const IS_WAIT = sql`b.issue_type = 'gate' and b.labels @> '{gc:wait}'`;

export interface Registrant {
  readonly id: string;
  readonly epoch: number;
  readonly ended: boolean;
  readonly name: string;
}

/** Reads waits; who changes them goes through `Work`. */
@Injectable()
export class WaitsRepository {
  constructor(private readonly db: Db) {}

  /** A page and the head of the city's stream in one snapshot. */
  async page(streamId: number, filter: WaitFilter, limit: number, from: Place | undefined): Promise<WaitPage> {
    const where = [sql`b.stream_id = ${streamId} and ${IS_WAIT}`];
    if (!filter.finished) where.push(sql`b.status <> 'closed'`);
    if (filter.state !== undefined) where.push(sql`b.metadata ->> 'state' = ${filter.state}`);
    if (filter.sessions !== undefined) where.push(sql`b.labels && ${filter.sessions.map((name) => `session:${name}`)}::text[]`);
    if (from !== undefined) where.push(sql`(b.created_at, b.id) < (${fromMicroseconds(from.createdAt)}, ${from.id})`);
    const found = sql`
      select b.id, b.created_at, ${beadBytes('b')} as bytes from beads b
      where ${sql.join(where, sql` and `)} order by b.created_at desc, b.id desc limit ${limit + 1}`;
    const json = sql`select ${beadJson('b')}::text as json from beads b where b.stream_id = ${streamId} and b.id = k.id`;
    const { rows } = await sql<Fitted & { head: number; id: string | null; created: string; json: string }>`
      select s.head, p.id, p.json, p.fits, ${inMicroseconds(sql`p.created_at`)} as created
      from event_streams s left join (${fittingJson(found, sql`created_at desc, id desc`, limit, json)}) p on true
      where s.id = ${streamId} order by p.nth`.execute(this.db);
    const page = fitted(rows[0]!.id === null ? [] : rows);
    const last = page.rows.at(-1);
    return {
      head: rows[0]!.head,
      items: page.rows.map((row) => JSON.parse(row.json) as Bead),
      next: page.more && last !== undefined ? { id: last.id!, createdAt: last.created } : undefined,
    };
  }

  /** The one session that is not closed and has one of these names, with its conversation; undefined for none or several. */
  async session(tx: Tx, streamId: number, names: readonly string[]): Promise<{ readonly id: string; readonly epoch: number } | undefined> {
    const { rows } = await sql<{ id: string; epoch: number }>`
      select s.id, s.epoch from sessions s where s.stream_id = ${streamId} and s.state <> 'closed'
        and (s.id = any(${[...names]}::text[]) or s.session_name = any(${[...names]}::text[]) or s.alias = any(${[...names]}::text[])
          or s.agent_name = any(${[...names]}::text[])) limit 2`.execute(tx);
    return rows.length === 1 ? rows[0] : undefined;
  }

  /** The session of this id, an ended one as well, and the name that the next one in its place has. */
  async registrant(tx: Tx, streamId: number, id: string): Promise<Registrant | undefined> {
    const { rows } = await sql<Registrant>`
      select s.id, s.epoch, s.state = 'closed' as ended, coalesce(nullif(s.agent_name, ''), nullif(s.alias, ''), s.session_name) as name
      from sessions s where s.stream_id = ${streamId} and s.id = ${id}`.execute(tx);
    return rows[0];
  }

  /** The bead and the head of the city's stream in one snapshot. */
  async find(streamId: number, id: string): Promise<{ head: number; isWait: boolean; bead: Bead | null }> {
    const { rows } = await sql<{ head: number; isWait: boolean; bead: Bead | null }>`
      select s.head, coalesce(${IS_WAIT}, false) as "isWait", case when b.id is not null then ${beadJson('b')} end as bead
      from event_streams s left join beads b on b.stream_id = s.id and b.id = ${id} where s.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }
}
