import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { ANSWER_BYTES } from '../../../platform/database/page-bytes.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import { beadBytes } from '../../work/work/bead-bytes.js';
import type { StoredVerdict } from './control/facts.js';
import type { RunOutcome, RunRow, RunStatus } from './run-row.js';
import { RUN } from './run-columns.js';

/** Where a list of runs goes on: below the last one that was served. */
export interface RunPlace {
  readonly lane: number;
  /** Microseconds since 1970, as text. */
  readonly updated: string;
  readonly id: string;
}

export type ListedRun = RunRow & { readonly lane: number; readonly updated: string };

/** What a drain does for one member. */
export interface UnitRow {
  readonly n: number;
  readonly member: string;
  readonly outcome: RunOutcome | null;
  readonly reason: string | null;
}

/** A bead of a run as its answers need it. */
export interface StepRow {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly issue_type: string;
  readonly assignee: string | null;
  readonly ref: string | null;
  readonly parent: string | null;
  readonly open_blockers: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly verdict: StoredVerdict | null;
  readonly units: readonly UnitRow[] | null;
  readonly deps: readonly { readonly id: string; readonly type: string; readonly blocking: boolean }[] | null;
}

export interface Found<T> {
  readonly head: number;
  readonly value: T;
}

/** Lanes in the order of a list: going on, waiting, over. */
const LANES = [0, 1, 2];
const MICROS = inMicroseconds(sql`r.updated_at`);

/** Reads of runs that answer requests. What they read is what they answer: no number of runs that a city has makes them dearer. */
@Injectable()
export class RunReadsRepository {
  constructor(private readonly db: Db) {}

  /** Up to `limit` below `below`, lane by lane, the last changed first. */
  async list(streamId: number, below: RunPlace | undefined, limit: number): Promise<Found<ListedRun[]>> {
    // A lane is read as far as those before it have left room on the page.
    const rest = (lane: number): RawBuilder<unknown> =>
      sql`greatest(0, ${limit} - ${sql.join(
        LANES.slice(0, lane).map((before) => sql`(select count(*) from ${sql.ref(`lane_${before}`)})`),
        sql` - `,
      )})`;
    const lanes = LANES.map((lane) => {
      const passed =
        below === undefined || lane > below.lane
          ? sql`true`
          : lane < below.lane
            ? sql`false`
            : sql`(r.updated_at, r.id) < (${fromMicroseconds(below.updated)}, ${below.id})`;
      return sql`${sql.ref(`lane_${lane}`)} as materialized (
        select ${RUN}, r.lane, ${MICROS} as updated from runs r where r.stream_id = ${streamId} and r.lane = ${sql.lit(lane)} and ${passed}
        order by r.updated_at desc, r.id desc limit ${lane === 0 ? limit : rest(lane)})`;
    });
    const all = LANES.map((lane) => sql`select * from ${sql.ref(`lane_${lane}`)}`);
    const page = sql`with ${sql.join(lanes)} ${sql.join(all, sql` union all `)}`;
    return this.#withHead<ListedRun>(streamId, page, sql`p.lane, p.updated_at desc, p.id desc`);
  }

  async counts(streamId: number): Promise<Found<{ status: RunStatus; runs: number }[]>> {
    const sums = sql`select c.status as id, c.status, sum(c.runs)::bigint as runs from run_counts c where c.stream_id = ${streamId} group by c.status`;
    return this.#withHead(streamId, sums, sql`p.id`);
  }

  async find(streamId: number, id: string): Promise<Found<RunRow | undefined>> {
    const { head, value } = await this.#withHead<RunRow>(
      streamId,
      sql`select ${RUN} from runs r where r.stream_id = ${streamId} and r.id = ${id}`,
      sql`p.id`,
    );
    return { head, value: value[0] };
  }

  /** The last changed runs of a formula. */
  async ofFormula(streamId: number, rig: string, formula: string, limit: number): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`
      select ${RUN} from runs r where r.stream_id = ${streamId} and r.rig = ${rig} and r.formula = ${formula}
      order by r.updated_at desc, r.id desc limit ${limit}`.execute(this.db);
    return rows;
  }

  /** Graphs of a place, by the rank of their status (that of `ranks`), the last changed first. */
  async feed(streamId: number, rig: string, ranks: readonly RunStatus[], limit: number): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`
      select r.* from unnest(${[...ranks]}::text[]) with ordinality s(status, rank) cross join lateral (
        select ${RUN} from runs r
        where r.stream_id = ${streamId} and r.rig = ${rig} and r.status = s.status and r.compiler = 2
        order by r.updated_at desc, r.id desc limit ${limit}) r
      order by s.rank, r.updated_at desc, r.id desc limit ${limit}`.execute(this.db);
    return rows;
  }

  /** The beads of a run in the order in which they were made, the root first; undefined when they are too long for one answer. */
  async beads(streamId: number, run: string): Promise<Found<StepRow[] | undefined>> {
    const { rows } = await sql<{ head: number; bytes: number }>`
      select s.head, (select coalesce(sum(${beadBytes('b')}), 0)::bigint from beads b where b.stream_id = s.id and b.run_id = ${run})
        + (select coalesce(sum(octet_length(c.verdict::text)), 0)::bigint from run_steps c where c.stream_id = s.id and c.run_id = ${run})
        + (select coalesce(sum(octet_length(u.member_id) + octet_length(u.reason)), 0)::bigint from run_units u where u.stream_id = s.id and u.run_id = ${run}) as bytes
      from event_streams s where s.id = ${streamId}`.execute(this.db);
    if (rows[0]!.bytes > ANSWER_BYTES) return { head: rows[0]!.head, value: undefined };
    return this.#withHead<StepRow>(
      streamId,
      sql`
        select b.id, b.title, b.status, b.issue_type, b.assignee, b.ref, b.parent, b.open_blockers, b.metadata, b.created_at,
          (select c.verdict from run_steps c where c.stream_id = b.stream_id and c.bead_id = b.id) as verdict, (
          select json_agg(json_build_object('n', u.n, 'member', u.member_id, 'outcome', u.outcome, 'reason', u.reason) order by u.n)
          from run_units u where u.stream_id = b.stream_id and u.drain_id = b.id) as units, (
          select json_agg(json_build_object('id', d.depends_on_id, 'type', d.type, 'blocking', d.blocking) order by d.depends_on_id)
          from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id) as deps
        from beads b where b.stream_id = ${streamId} and b.run_id = ${run}`,
      sql`p.id <> ${run}, p.created_at, length(p.id), p.id`,
    );
  }

  /** The rows of a query with the head of the city's log in the same snapshot. */
  async #withHead<R>(streamId: number, query: RawBuilder<unknown>, order: RawBuilder<unknown>): Promise<Found<R[]>> {
    const { rows } = await sql<R & { head: number; id: string | null }>`
      select s.head, p.* from event_streams s left join (${query}) p on true where s.id = ${streamId} order by ${order}`.execute(this.db);
    return { head: rows[0]!.head, value: rows[0]!.id === null ? [] : rows };
  }
}
