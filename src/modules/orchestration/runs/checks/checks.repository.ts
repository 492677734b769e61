import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { keysByTurn, type Places } from '../../../sessions/launch/places.js';
import type { Control, RecipeStep } from '../../formulas/compile/recipe.js';
import type { StoredVerdict } from '../control/facts.js';

export type CheckControl = Extract<Control, { kind: 'check' }>;

/** A script that a worker has taken, with what it is about. */
export interface CheckRow {
  readonly pk: number;
  readonly city: CityScope;
  readonly bead_id: string;
  readonly run_id: string;
  readonly round: number;
  readonly attempts: number;
  readonly formula: string;
  readonly rig: string;
  readonly step: RecipeStep & { readonly control: CheckControl };
  /** The step that speaks for the round that is checked, null when somebody has removed it, and what it hands on. */
  readonly subject: string | null;
  readonly output: string | null;
}

/** SQL of the scripts of checks. */
@Injectable()
export class ChecksRepository {
  constructor(private readonly db: Db) {}

  /** Whether a script waits, or its worker has not said for too long that it lives, in a city that runs: as `claim` takes it. */
  readonly isDue = sql<boolean>`exists (
    select from run_checks c join cities y on y.stream_id = c.stream_id and y.running where c.worker is null or c.lease_until < now())`;

  /**
   * Takes what waits, or whose worker has not said for too long that it lives: of cities that have the least in work first. Answers
   * what is this worker's from now on.
   */
  async claim(tx: Tx, worker: string, places: Places, leaseMs: number): Promise<CheckRow[]> {
    const waiting = sql`
      select t.pk, t.turn from (
        select c.pk, c.worker is null or c.lease_until < now() as free,
          row_number() over (partition by c.stream_id order by c.worker is null or c.lease_until < now(), c.pk) as turn
        from run_checks c join cities y on y.stream_id = c.stream_id and y.running) t
      where t.free`;
    const { rows } = await sql<CheckRow>`
      with free as (
        select c.pk from run_checks c
        where c.pk in (${keysByTurn(waiting, places)}) and (c.worker is null or c.lease_until < now()) for update skip locked),
      taken as (
        update run_checks c set worker = ${worker}, lease_until = now() + ${leaseMs} * interval '1 millisecond', attempts = c.attempts + 1
        from free f where c.pk = f.pk returning c.*)
      select t.pk, t.bead_id, t.run_id, t.round, t.attempts, r.formula, r.rig, s.step, about.id as subject, about.output,
        json_build_object('id', y.id, 'name', y.name, 'path', y.dir, 'stream', y.name, 'streamId', y.stream_id) as city
      from taken t join cities y on y.stream_id = t.stream_id
        join runs r on r.stream_id = t.stream_id and r.id = t.run_id
        join run_steps s on s.stream_id = t.stream_id and s.bead_id = t.bead_id
        left join lateral (
          select b.id, b.metadata ->> 'gc.output_json' as output from run_steps m
          join beads b on b.stream_id = m.stream_id and b.id = m.bead_id
          where m.stream_id = t.stream_id and m.run_id = t.run_id and m.made_by = s.step ->> 'id' and m.round = t.round
            and (t.subject is null or b.id = t.subject)
          order by b.created_at desc, length(b.id) desc, b.id desc limit 1) about on true`.execute(tx);
    return rows;
  }

  /**
   * Renews the leases of what a worker runs. Answers which of it is still its own. It waits for nobody: who ends several checks of a
   * run locks them in another order, and both would wait for each other. What is locked just now is its own until its lease ends, and is
   * renewed the next time.
   */
  async renew(worker: string, pks: readonly number[], leaseMs: number): Promise<Set<number>> {
    const { rows } = await sql<{ pk: number }>`
      with own as (select pk, lease_until from run_checks where pk = any(${[...pks]}::bigint[]) and worker = ${worker}),
      free as (select c.pk from run_checks c where c.pk in (select o.pk from own o) and c.worker = ${worker} for update skip locked),
      renewed as (update run_checks c set lease_until = now() + ${leaseMs} * interval '1 millisecond' from free f where c.pk = f.pk
        returning c.pk)
      select pk from own where lease_until > now() union select pk from renewed`.execute(this.db);
    return new Set(rows.map(({ pk }) => pk));
  }

  /** From now on who has this token calls the API for it. False when it is not this worker's any more. */
  async grant({ pk, attempts }: CheckRow, worker: string, hash: Buffer): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update run_checks set token_hash = ${hash} where pk = ${pk} and worker = ${worker} and attempts = ${attempts}`.execute(this.db);
    return numAffectedRows === 1n;
  }

  /** Gives it to whoever takes it next; it does not count as tried. */
  async giveBack({ pk, attempts }: CheckRow, worker: string): Promise<void> {
    await sql`
      update run_checks set worker = null, lease_until = null, attempts = attempts - 1
      where pk = ${pk} and worker = ${worker} and attempts = ${attempts}`.execute(this.db);
  }

  /** Keeps what a script has said, once. False when somebody else has taken it over, or nobody asks any more. */
  async settle(tx: Tx, { pk, attempts }: CheckRow, worker: string, verdict: StoredVerdict): Promise<boolean> {
    const { numAffectedRows } = await sql`
      with asked as (
        delete from run_checks where pk = ${pk} and worker = ${worker} and attempts = ${attempts} returning stream_id, bead_id)
      update run_steps s set verdict = ${JSON.stringify(verdict)}::jsonb from asked a
      where s.stream_id = a.stream_id and s.bead_id = a.bead_id`.execute(tx);
    return numAffectedRows === 1n;
  }
}
