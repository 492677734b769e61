import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../../platform/database/transactions.js';
import { memberIds } from '../../../work/work/convoy-members.js';
import type { Outcome } from '../control/facts.js';

export interface NewUnit {
  readonly n: number;
  readonly member: string;
  readonly convoy: string | null;
  /** The convoy was made for it. */
  readonly own_convoy: boolean;
  /** Nobody else works on its member meanwhile. */
  readonly held: boolean;
}

/** A unit that has ended just now, with what it held. */
export interface EndedUnit {
  readonly drain: string;
  readonly n: number;
  readonly member: string;
  readonly outcome: Outcome;
  /** Null when the convoy is not its own. */
  readonly convoy: string | null;
  readonly held: boolean;
  /** As of its run. */
  readonly asked_by: readonly string[] | null;
}

/** A step, and the unit that has ended which it is done for; of a drain itself one of its own. */
export interface DoneUnit {
  readonly step: string;
  readonly drain: string;
  readonly member: string;
}

/** A member that a drain has let go, whose unit has not ended. */
export interface LetGo {
  readonly drain: string;
  readonly member: string;
  /** As of its run. */
  readonly asked_by: readonly string[] | null;
}

/** Which units are meant: one, those of a drain, or those of a run. */
export type Units = { readonly run: string } | { readonly drain: string; readonly n?: number };

/** SQL of the units of drains, under the city's work lock. */
@Injectable()
export class DrainsRepository {
  /** Open members of a convoy, the oldest first. */
  async openMembers(tx: Tx, streamId: number, convoy: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select m.id from beads m
      where m.stream_id = ${streamId} and m.id in (${memberIds(streamId, convoy)}) and m.status <> 'closed'
      order by m.created_at, length(m.id), m.id limit ${limit}`.execute(tx);
    return rows.map(({ id }) => id);
  }

  /** The first of some beads that another run works on: one that was launched for it, or a drain that holds it. */
  async taken(tx: Tx, streamId: number, run: string, members: readonly string[]): Promise<{ member: string; run: string } | undefined> {
    const { rows } = await sql<{ member: string; run: string }>`
      select m.member, t.run from unnest(${[...members]}::text[]) with ordinality m(member, n) cross join lateral (
        select r.id as run from runs r where r.stream_id = ${streamId} and r.source_id = m.member and r.outcome is null and r.id <> ${run}
        union all
        select u.run_id from run_units u where u.stream_id = ${streamId} and u.member_id = m.member and u.held) t
      order by m.n limit 1`.execute(tx);
    return rows[0];
  }

  async add(tx: Tx, streamId: number, run: string, drain: string, units: readonly NewUnit[]): Promise<void> {
    await sql`
      insert into run_units (stream_id, drain_id, n, run_id, member_id, convoy_id, own_convoy, held)
      select ${streamId}, ${drain}, u.n, ${run}, u.member, u.convoy, u.own_convoy, u.held
      from jsonb_to_recordset(${JSON.stringify(units)}::jsonb) as u(n integer, member text, convoy text, own_convoy boolean, held boolean)`.execute(
      tx,
    );
  }

  /** The first of some steps of a run that is a drain whose units have all ended, or is done for a unit that has, at whatever depth. */
  async done(tx: Tx, streamId: number, run: string, steps: readonly string[]): Promise<DoneUnit | undefined> {
    const { rows } = await sql<DoneUnit>`
      with recursive around as (
        select s.bead_id as step, s.bead_id, s.made_by, s.round, null::integer as unit from run_steps s
        where s.stream_id = ${streamId} and s.run_id = ${run} and s.bead_id = any(${[...steps]}::text[]) and exists (
          select from run_units u where u.stream_id = ${streamId} and u.run_id = ${run} and u.outcome is not null)
        union all
        select a.step, s.bead_id, s.made_by, s.round, a.round from around a
        join run_steps s on s.stream_id = ${streamId} and s.run_id = ${run} and s.step ->> 'id' = a.made_by)
      select a.step, u.drain_id as drain, u.member_id as member from around a
      join run_units u on u.stream_id = ${streamId} and u.drain_id = a.bead_id and u.outcome is not null and (u.n = a.unit or a.unit is null and not exists (
        select from run_units o where o.stream_id = u.stream_id and o.drain_id = u.drain_id and o.outcome is null))
      order by a.step, u.n limit 1`.execute(tx);
    return rows[0];
  }

  /** Lets go what units of a drain hold that have not ended; they may be taken up again with it. What is closed nobody else begins: it stays. */
  async letGo(tx: Tx, streamId: number, drain: string): Promise<string[]> {
    const { rows } = await sql<{ member_id: string }>`
      update run_units u set held = false where u.stream_id = ${streamId} and u.drain_id = ${drain} and u.held and u.outcome is null and not exists (
        select from beads b where b.stream_id = u.stream_id and b.id = u.member_id and b.status = 'closed')
      returning member_id`.execute(tx);
    return rows.map(({ member_id: member }) => member);
  }

  /** What some drains have let go so, in the order of their units. */
  async wereHeld(tx: Tx, streamId: number, run: string, drains: readonly string[]): Promise<LetGo[]> {
    const { rows } = await sql<LetGo>`
      select u.drain_id as drain, u.member_id as member, r.asked_by from run_units u
      join run_steps s on s.stream_id = u.stream_id and s.bead_id = u.drain_id and s.step -> 'control' ->> 'member_access' = 'exclusive'
      join runs r on r.stream_id = u.stream_id and r.id = u.run_id
      where u.stream_id = ${streamId} and u.run_id = ${run} and u.drain_id = any(${[...drains]}::text[]) and u.outcome is null and not u.held
      order by u.drain_id, u.n`.execute(tx);
    return rows;
  }

  async hold(tx: Tx, streamId: number, drain: string): Promise<void> {
    await sql`
      update run_units set held = true where stream_id = ${streamId} and drain_id = ${drain} and outcome is null`.execute(tx);
  }

  /** Ends units that have not ended: each once. */
  async end(tx: Tx, streamId: number, which: Units, outcome: Outcome, reason: string): Promise<EndedUnit[]> {
    const meant =
      'run' in which
        ? sql`u.run_id = ${which.run}`
        : which.n === undefined
          ? sql`u.drain_id = ${which.drain}`
          : sql`u.drain_id = ${which.drain} and u.n = ${which.n}`;
    const { rows } = await sql<EndedUnit>`
      with open as (
        select u.drain_id, u.n, u.held from run_units u where u.stream_id = ${streamId} and ${meant} and u.outcome is null)
      update run_units u set outcome = ${outcome}, reason = ${reason}, held = false from open o
      where u.stream_id = ${streamId} and u.drain_id = o.drain_id and u.n = o.n
      returning u.drain_id as drain, u.n, u.member_id as member, u.outcome, case when u.own_convoy then u.convoy_id end as convoy, o.held,
        (select r.asked_by from runs r where r.stream_id = u.stream_id and r.id = u.run_id) as asked_by`.execute(tx);
    return rows.sort((a, b) => a.n - b.n);
  }
}
