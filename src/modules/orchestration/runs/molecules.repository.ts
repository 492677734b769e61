import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { ANSWER_BYTES } from '../../../platform/database/page-bytes.js';
import { beadsOfType, type BeadsOfType } from '../../work/work/beads-of-type.js';
import { beadBytes } from '../../work/work/bead-bytes.js';
import type { Place } from '../../work/work/page-token.js';
import { beadJson } from '../../work/work/bead-json.js';

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
  list(
    streamId: number,
    { all, rig }: { readonly all: boolean; readonly rig?: string | undefined },
    below: Place | undefined,
    limit: number,
  ): Promise<BeadsOfType | undefined> {
    const looked = rig === undefined ? undefined : sql`one.rig = ${rig}`;
    return beadsOfType(this.db, { streamId, type: 'molecule', all }, looked, below, limit);
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
