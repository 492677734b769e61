import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { ANSWER_BYTES, fitted, fittingJson, type Fitted } from '../../../platform/database/page-bytes.js';
import { counting, totalOf, type Count, type Total } from '../../../platform/database/totals.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import { beadBytes } from '../../work/work/bead-bytes.js';
import type { Place } from '../../work/work/page-token.js';
import { beadJson } from '../../work/work/bead-json.js';

export interface MoleculeRows {
  readonly head: number;
  readonly total: Total;
  /** The JSON of each. */
  readonly items: readonly string[];
  readonly next: Place | undefined;
}

export interface MoleculeRow {
  readonly head: number;
  /** Null when there is no such run. */
  readonly json: string | null;
  /** Null when they are too long for one answer. */
  readonly children: string | null;
  readonly bytes: number;
  readonly total: number;
  readonly closed: number;
}

/** Reads of the roots of trees, and of runs with their beads. */
@Injectable()
export class MoleculesRepository {
  constructor(private readonly db: Db) {}

  /** Newest first, up to `limit` below `below`. Undefined when the city does not run. */
  async list(
    streamId: number,
    { all, rig }: { readonly all: boolean; readonly rig?: string | undefined },
    below: Place | undefined,
    limit: number,
  ): Promise<MoleculeRows | undefined> {
    const held = sql`m.stream_id = ${streamId} and m.issue_type = 'molecule' and ${all ? sql`true` : sql`m.status <> 'closed'`}`;
    const looked = rig === undefined ? sql`true` : sql`m.rig = ${rig}`;
    const after = below === undefined ? sql`` : sql`and (m.created_at, m.id) < (${fromMicroseconds(below.createdAt)}, ${below.id})`;
    const found = sql`
      select m.id, m.created_at, ${beadBytes('m')} as bytes from beads m where ${held} and ${looked} ${after}
      order by m.created_at desc, m.id desc limit ${limit + 1}`;
    const json = sql`select ${beadJson('m')}::text as json from beads m where m.stream_id = ${streamId} and m.id = k.id`;
    const counted = counting(
      sql`select from beads m where ${held}`,
      rig === undefined ? undefined : sql`select ${looked} as fits from beads m where ${held} order by m.created_at desc, m.id desc`,
    );
    const { rows } = await sql<Fitted & Count & { head: number; id: string | null; created: string; json: string }>`
      select s.head, t.counted, t.looked, p.id, p.json, p.fits, ${inMicroseconds(sql`p.created_at`)} as created
      from cities y join event_streams s on s.id = y.stream_id
      cross join lateral (${counted}) t
      left join (${fittingJson(found, sql`created_at desc, id desc`, limit, json)}) p on true
      where y.stream_id = ${streamId} and y.running order by p.nth`.execute(this.db);
    const [first] = rows;
    if (first === undefined) return undefined;
    const page = fitted(first.id === null ? [] : rows);
    const last = page.rows.at(-1);
    return {
      head: first.head,
      total: totalOf(first, page.rows.length, below === undefined && !page.more),
      items: page.rows.map((row) => row.json),
      next: page.more && last !== undefined ? { id: last.id!, createdAt: last.created } : undefined,
    };
  }

  async find(streamId: number, id: string): Promise<MoleculeRow> {
    const members = sql`m.stream_id = ${streamId} and m.run_id = ${id} and m.id <> ${id}`;
    const { rows } = await sql<MoleculeRow>`
      select s.head, case when b.id is not null then ${beadJson('b')}::text end as json, parts.*, case when parts.bytes <= ${ANSWER_BYTES} then (
        select '[' || coalesce(string_agg(${beadJson('m')}::text, ',' order by m.created_at, length(m.id), m.id), '') || ']'
        from beads m where ${members}) end as children
      from event_streams s left join beads b on b.stream_id = s.id and b.id = ${id} and b.run_id = b.id cross join lateral (
        select count(*) as total, count(*) filter (where m.status = 'closed') as closed, coalesce(sum(${beadBytes('m')}), 0)::bigint as bytes
        from beads m where ${members}) parts
      where s.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }
}
