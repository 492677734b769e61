import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import { BLOCKING } from '../work/bead-record.js';
import type { Place } from '../work/page-token.js';
import type { BeadDependency, BeadFanOut } from './dependencies.schemas.js';

export type Direction = 'down' | 'up' | 'both';

export interface EdgePage {
  readonly head: number;
  readonly found: boolean;
  readonly total: number;
  readonly blockedBy: string[];
  readonly settling: string[];
  readonly fanOut: BeadFanOut | null;
  /** One more than the limit when there are more. */
  readonly items: { readonly place: Place; readonly edge: BeadDependency }[];
}

/** What may have no circles, each by itself: what keeps work from being ready, and the tree of parents. */
export type Relation = 'blocking' | 'tree';

/** One step of a walk along a relation: from `via` to `id`. */
export interface Step {
  readonly id: string;
  readonly via: string;
}

/** What an edge `d` looks like from its other end `o`; `t` is what it leads to. */
const EDGE = sql`json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type, 'blocking', d.blocking,
  'satisfied', not d.blocking or t.status = 'closed', 'status', o.status, 'title', o.title)`;

/** What was seen from one end of what may be a way to the other one. */
export interface Walk {
  /** Beads, the end among them. */
  readonly walked: number;
  /** Those between them. Null where the other end is not one of them. */
  readonly steps: readonly Step[] | null;
}

/** Where one comes from to a bead `w`. */
const backOf = (streamId: number, relation: Relation): RawBuilder<unknown> =>
  relation === 'blocking'
    ? sql`
      select d.issue_id as id from bead_dependencies d
      where d.stream_id = ${streamId} and d.depends_on_id = w.id and d.type = any(${[...BLOCKING]}::text[]) offset 0`
    : sql`
      select d.issue_id as id from bead_dependencies d
      where d.stream_id = ${streamId} and d.depends_on_id = w.id and d.type = 'parent-child'
      union all
      select b.id from beads b where b.stream_id = ${streamId} and b.parent = w.id`;

/** Where one comes to from a bead `w`. */
const nextOf = (streamId: number, relation: Relation): RawBuilder<unknown> =>
  relation === 'blocking'
    ? sql`
      select d.depends_on_id as id from bead_dependencies d
      where d.stream_id = ${streamId} and d.issue_id = w.id and d.blocking offset 0`
    : sql`
      select d.depends_on_id as id from bead_dependencies d
      where d.stream_id = ${streamId} and d.issue_id = w.id and d.type = 'parent-child'
      union all
      select b.parent from beads b where b.stream_id = ${streamId} and b.id = w.id and b.parent is not null`;

/** Reads edges between beads; who writes them goes through `Work`. */
@Injectable()
export class DependenciesRepository {
  constructor(private readonly db: Db) {}

  /** The edges of a bead, newest first, what blocks it and the head of the city's stream, all in one snapshot. */
  async page(streamId: number, id: string, direction: Direction, limit: number, from: Place | undefined): Promise<EdgePage> {
    const place = sql`d.issue_id || '>' || d.depends_on_id`;
    const beyond = from === undefined ? sql`true` : sql`(d.created_at, ${place}) < (${fromMicroseconds(from.createdAt)}, ${from.id})`;
    const down = sql`${direction !== 'up'} and d.stream_id = ${streamId} and d.issue_id = ${id}`;
    const up = sql`${direction !== 'down'} and d.stream_id = ${streamId} and d.depends_on_id = ${id}`;
    // Of either end no more than the page has is put in order: there is no bound to what depends on a bead.
    const newest = (edges: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`select d.* from (${edges}) d order by d.created_at desc, ${place} desc limit ${limit + 1}`;
    const { rows } = await sql<EdgePage>`
      with own as (
        (${newest(sql`select d.*, d.depends_on_id as other from bead_dependencies d where ${down} and ${beyond}`)})
        union all
        (${newest(sql`select d.*, d.issue_id as other from bead_dependencies d where ${up} and ${beyond}`)})
      ), shown as (
        select d.*, row_number() over (order by d.created_at desc, ${place} desc) as place from (${newest(sql`select * from own`)}) d
      )
      select s.head, (select count(*) from bead_dependencies d where ${down}) + (select count(*) from bead_dependencies d where ${up}) as total,
        exists (select from beads b where b.stream_id = s.id and b.id = ${id}) as found,
        array(
          select d.depends_on_id from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
          where d.stream_id = s.id and d.issue_id = ${id} and d.blocking and t.status <> 'closed' order by 1) as "blockedBy",
        array(
          select f.bead_id from bead_dependencies d join bead_fan_outs f on f.stream_id = d.stream_id and f.bead_id = d.depends_on_id
          where d.stream_id = s.id and d.issue_id = ${id} and d.blocking and (d.type, d.issue_id) > (f.after_type, f.after_id) order by 1) as settling,
        (select json_build_object('told', f.told, 'changed', f.changed, 'begun_at', utc_text(f.begun_at))
          from bead_fan_outs f where f.stream_id = s.id and f.bead_id = ${id}) as "fanOut",
        (select coalesce(json_agg(json_build_object('edge', ${EDGE}, 'place', json_build_object(
            'createdAt', ${inMicroseconds(sql`d.created_at`)}, 'id', d.issue_id || '>' || d.depends_on_id)) order by d.place), '[]')
          from shown d
          join beads o on o.stream_id = d.stream_id and o.id = d.other
          join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id) as items
      from event_streams s where s.id = ${streamId}`.execute(this.db);
    return rows[0]!;
  }

  async edge(tx: Tx, streamId: number, issue: string, dependsOn: string): Promise<BeadDependency | undefined> {
    const { rows } = await sql<{ edge: BeadDependency }>`
      select ${EDGE} as edge from bead_dependencies d
      join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
      join beads o on o.stream_id = d.stream_id and o.id = d.depends_on_id
      where d.stream_id = ${streamId} and d.issue_id = ${issue} and d.depends_on_id = ${dependsOn}`.execute(tx);
    return rows[0]?.edge;
  }

  /** Of beads those that wait for one and are waited for by one: only they can be part of a cycle. */
  async between(tx: Tx, streamId: number, ids: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select i.id from unnest(${[...ids]}::text[]) i (id)
      where exists (select from bead_dependencies d where d.stream_id = ${streamId} and d.issue_id = i.id and d.blocking)
        and exists (select from bead_dependencies d where d.stream_id = ${streamId} and d.depends_on_id = i.id and d.blocking)`.execute(tx);
    return rows.map((row) => row.id);
  }

  /**
   * Walks along a relation from `start`, to the nearest beads first, as many as `most`, and looks whether `end` is one of them. Each bead is visited once however many
   * ways lead to it: what is walked are beads, and only where they lead to `end` the edges among them are read once more.
   */
  walkOn(tx: Tx, streamId: number, start: string, end: string, relation: Relation, most: number): Promise<Walk> {
    return walk(tx, start, end, nextOf(streamId, relation), sql`select next.id, w.id as via`, most);
  }

  /** As `walkOn`, against the relation from `end` to `start`. */
  walkBack(tx: Tx, streamId: number, start: string, end: string, relation: Relation, most: number): Promise<Walk> {
    return walk(tx, end, start, backOf(streamId, relation), sql`select w.id, next.id as via`, most);
  }

  /** Blocking steps on all ways from these beads, the nearest first, so many at the most. Each bead is visited once. */
  async stepsBelow(tx: Tx, streamId: number, ids: readonly string[], most: number): Promise<Step[]> {
    const { rows } = await sql<Step>`
      with recursive walk (id) as (
        select i.id collate "C" from unnest(${[...ids]}::text[]) i (id)
        union
        select next.id from walk w cross join lateral (${nextOf(streamId, 'blocking')}) next
      )
      select next.id, w.id as via from walk w cross join lateral (${nextOf(streamId, 'blocking')}) next
      limit ${most}`.execute(tx);
    return rows;
  }
}

async function walk(tx: Tx, from: string, to: string, next: RawBuilder<unknown>, step: RawBuilder<unknown>, most: number): Promise<Walk> {
  const { rows } = await sql<Walk>`
    with recursive walk (id) as (
      select ${from}::text collate "C"
      union
      select next.id from walk w cross join lateral (${next}) next
    ), seen as materialized (
      select w.id from walk w limit ${most})
    select (select count(*) from seen) as walked,
      case when exists (select from seen s where s.id = ${to}) then (
        select json_agg(s) from (${step} from seen w cross join lateral (${next}) next join seen n on n.id = next.id) s) end as steps`.execute(
    tx,
  );
  return rows[0]!;
}
