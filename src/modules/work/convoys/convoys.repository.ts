import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { ANSWER_BYTES } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { beadsOfType, type BeadsOfType } from '../work/beads-of-type.js';
import { beadBytes } from '../work/bead-bytes.js';
import { memberCounts, memberIds } from '../work/convoy-members.js';
import type { Place } from '../work/page-token.js';
import type { Holding } from './containment.js';
import { beadJson } from '../work/bead-json.js';

export interface ConvoyFilter {
  readonly all: boolean;
  readonly rig?: string | undefined;
  readonly owned?: boolean | undefined;
  readonly stranded?: boolean | undefined;
}

/** What is stored under an id; of a convoy with its members' JSON, an array, oldest first. */
export interface ConvoyRow {
  readonly head: number;
  readonly type: string | null;
  readonly json: string;
  /** Null when they are too long for one answer. */
  readonly children: string | null;
  /** Bytes of the members' JSON, about. */
  readonly bytes: number;
  readonly total: number;
  readonly closed: number;
}

/** The convoys that hold `up` themselves, possibly twice: each is looked up once it is found, and not all convoys of the city. */
const holdersOf = (streamId: number): RawBuilder<unknown> => sql`
  select h.id from (
    select d.issue_id as id from bead_dependencies d where d.stream_id = ${streamId} and d.depends_on_id = up.id and d.type = 'tracks'
    union all
    select b.parent from beads b where b.stream_id = ${streamId} and b.id = up.id offset 0) above
  cross join lateral (
    select b.id from beads b where b.stream_id = ${streamId} and b.id = above.id and b.issue_type = 'convoy' offset 0) h`;

/** All SQL of convoys beyond what closes them. Reads take the head of the city's events in their own snapshot. */
@Injectable()
export class ConvoysRepository {
  constructor(private readonly db: Db) {}

  /** Newest first, up to `limit` below `below`. Undefined when the city does not run. */
  list(streamId: number, filter: ConvoyFilter, below: Place | undefined, limit: number): Promise<BeadsOfType | undefined> {
    const { all, rig, owned, stranded } = filter;
    const orphans = sql`exists (
      select from (${memberIds(streamId, sql`one.id`)}) x (id) join beads m on m.stream_id = ${streamId} and m.id = x.id
      where m.status <> 'closed' and m.assignee is null)`;
    const looked = sql.join(
      [
        sql`true`,
        ...(rig === undefined ? [] : [sql`one.rig = ${rig}`]),
        ...(owned === undefined ? [] : [sql`('owned' = any(one.labels)) = ${owned}`]),
        ...(stranded === undefined ? [] : [sql`${orphans} = ${stranded}`]),
      ],
      sql` and `,
    );
    return beadsOfType(this.db, { streamId, type: 'convoy', all }, looked, below, limit);
  }

  async find(streamId: number, id: string): Promise<ConvoyRow> {
    const { rows } = await sql<ConvoyRow>`
      select s.head, c.issue_type as type, ${beadJson('c')}::text as json, members.*, case when members.bytes <= ${ANSWER_BYTES} then (
        select '[' || coalesce(string_agg(${beadJson('m')}::text, ',' order by m.created_at, m.id), '') || ']'
        from beads m where c.issue_type = 'convoy' and m.stream_id = ${streamId} and m.id in (${memberIds(streamId, id)})) end as children
      from event_streams s left join beads c on c.stream_id = s.id and c.id = ${id} cross join lateral (
        select count(*) as total, count(*) filter (where m.status = 'closed') as closed, coalesce(sum(${beadBytes('m')}), 0)::bigint as bytes
        from beads m where c.issue_type = 'convoy' and m.stream_id = ${streamId} and m.id in (${memberIds(streamId, id)})) members
      where s.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }

  /** As `find`, without any JSON. */
  async progress(streamId: number, id: string): Promise<Omit<ConvoyRow, 'json' | 'children' | 'bytes'>> {
    const { rows } = await sql<Omit<ConvoyRow, 'json' | 'children' | 'bytes'>>`
      select s.head, c.issue_type as type, members.*
      from event_streams s left join beads c on c.stream_id = s.id and c.id = ${id} cross join (${memberCounts(streamId, id)}) members
      where s.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }

  /** The first of the members that are open, by id. */
  async openMembers(tx: Tx, streamId: number, convoy: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select m.id from beads m
      where m.stream_id = ${streamId} and m.status <> 'closed' and m.id in (${memberIds(streamId, convoy)}) order by m.id limit ${limit}`.execute(
      tx,
    );
    return rows.map((row) => row.id);
  }

  /** The members that are convoys, by id. */
  async memberConvoys(tx: Tx, streamId: number, convoy: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select m.id from beads m
      where m.stream_id = ${streamId} and m.issue_type = 'convoy' and m.id in (${memberIds(streamId, convoy)}) order by m.id`.execute(tx);
    return rows.map((row) => row.id);
  }

  /** Which convoys hold this one, directly or through others, and whom of them each holds. Each is visited once, however many ways lead to it. */
  async holdings(tx: Tx, streamId: number, convoy: string): Promise<Holding[]> {
    const { rows } = await sql<Holding>`
      with recursive up (id) as (
        select ${convoy}::text collate "C"
        union
        select c.id from up cross join lateral (${holdersOf(streamId)}) c)
      select c.id as container, up.id as member from up cross join lateral (${holdersOf(streamId)}) c`.execute(tx);
    return rows;
  }

  /** Whether a run that goes on works on it. What a run works on was made of what it is for: looked for among the live runs that are for something. */
  async isWorkedOn(tx: Tx, streamId: number, convoy: string): Promise<boolean> {
    const { rows } = await sql`
      select from runs where stream_id = ${streamId} and source_id is not null and outcome is null and convoy_id = ${convoy} limit 1`.execute(
      tx,
    );
    return rows.length === 1;
  }

  /** Of slung beads, the ids of the convoys that follow them and are not closed, by the bead's. */
  async liveSlingConvoys(tx: Tx, streamId: number, beads: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await sql<{ id: string; source: string }>`
      select b.id, b.sling_source as source from beads b
      where b.stream_id = ${streamId} and b.sling_source = any(${[...beads]}::text[]) and b.status <> 'closed'`.execute(tx);
    return new Map(rows.map(({ id, source }) => [source, id]));
  }
}
