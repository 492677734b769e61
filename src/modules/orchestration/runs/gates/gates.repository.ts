import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import { PassedOver } from '../../../../platform/database/passed-over.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { Control } from '../../formulas/compile/recipe.js';
import type { RunOutcome } from '../run-row.js';
import { hurryGatesOf } from './hurry.js';

export type GateControl = Extract<Control, { kind: 'gate' }>;

/** A gate that is what its run waits for. */
export interface ArmedGate {
  readonly bead_id: string;
  readonly run_id: string;
  readonly control: GateControl;
  /** Its time has run out. */
  readonly late: boolean;
  /** The message that it waits for has come, and there was more to open than one transaction does. */
  readonly heard: boolean;
  /** Of a run that is waited for: whether it is there, and its outcome, null while it goes on. */
  readonly awaited_exists: boolean;
  readonly awaited_outcome: RunOutcome | null;
}

const GATE = sql`c.bead_id, c.run_id, c.control,
  coalesce(c.armed_at + (c.control ->> 'timeout_ms')::double precision * interval '1 millisecond' <= clock_timestamp(), false) as late,
  exists (select from run_heard_gates h where h.stream_id = c.stream_id and h.bead_id = c.bead_id) as heard,
  exists (select from runs a where a.stream_id = c.stream_id and a.id = c.awaited and c.gate = 'run') as awaited_exists,
  (select a.outcome from runs a where a.stream_id = c.stream_id and a.id = c.awaited and c.gate = 'run') as awaited_outcome`;

/** SQL of gates. */
@Injectable()
export class GatesRepository {
  constructor(private readonly db: Db) {}

  readonly #passed = new PassedOver();

  /** Up to `limit` armed gates of a type that wait for `awaited`. */
  async awaiting(tx: Tx, streamId: number, type: GateControl['type'], awaited: readonly string[], limit: number): Promise<ArmedGate[]> {
    const { rows } = await sql<ArmedGate>`
      select ${GATE} from run_controls c
      where c.stream_id = ${streamId} and c.gate = ${type} and c.awaited = any(${[...awaited]}::text[]) and c.armed_at is not null
      order by c.bead_id limit ${limit}`.execute(tx);
    return rows;
  }

  /** Keeps for armed gates that a message from their sender has come. */
  async hear(tx: Tx, streamId: number, senders: readonly string[]): Promise<void> {
    await sql`
      insert into run_heard_gates (stream_id, bead_id, heard_at)
      select c.stream_id, c.bead_id, clock_timestamp() from run_controls c
      where c.stream_id = ${streamId} and c.gate = 'mail' and c.awaited = any(${[...senders]}::text[]) and c.armed_at is not null
      on conflict do nothing`.execute(tx);
  }

  /** Of gates that have heard of their message, those that no other worker has looked at; also one that is not what its run waits for any more. */
  async heard(tx: Tx, streamId: number, ids: readonly string[]): Promise<ArmedGate[]> {
    const { rows } = await sql<ArmedGate>`
      select ${GATE} from run_controls c join run_heard_gates o on o.stream_id = c.stream_id and o.bead_id = c.bead_id
      where c.stream_id = ${streamId} and c.bead_id = any(${[...ids]}::text[]) order by o.heard_at, c.bead_id`.execute(tx);
    return rows;
  }

  async forgetHeard(tx: Tx, streamId: number, ids: readonly string[]): Promise<void> {
    await sql`delete from run_heard_gates where stream_id = ${streamId} and bead_id = any(${[...ids]}::text[])`.execute(tx);
  }

  /** Of gates that were due, those that are armed still. */
  async armed(tx: Tx, streamId: number, ids: readonly string[]): Promise<ArmedGate[]> {
    const { rows } = await sql<ArmedGate>`
      select ${GATE} from run_controls c
      where c.stream_id = ${streamId} and c.bead_id = any(${[...ids]}::text[]) and c.armed_at is not null and c.due_at <= clock_timestamp()
      order by c.due_at, c.bead_id`.execute(tx);
    return rows;
  }

  async hurry(tx: Tx, streamId: number, run: string): Promise<void> {
    await hurryGatesOf(streamId, run).execute(tx);
  }

  /** It is looked at again when its time has run out, if it has any. */
  async postpone(tx: Tx, streamId: number, id: string): Promise<void> {
    await sql`
      update run_controls c set due_at = c.armed_at + (c.control ->> 'timeout_ms')::double precision * interval '1 millisecond'
      where c.stream_id = ${streamId} and c.bead_id = ${id}`.execute(tx);
  }

  /** Whether a gate is due, in whatever city. */
  readonly isDue = sql<boolean>`(select c.due_at <= clock_timestamp() from run_controls c where c.due_at > ${this.#passed} order by c.due_at limit 1)`;

  /** The running city with the gate that has been due the longest, and up to `limit` of its due gates. `except` are streams to pass over. */
  async nextDue(except: readonly number[], limit: number): Promise<{ city: CityScope; ids: string[] } | undefined> {
    const from = this.#passed.from();
    const { rows } = await sql<{ id: number; name: string; dir: string; stream_id: number; ids: string[] }>`
      with first as (
        select c.stream_id from run_controls c join cities y on y.stream_id = c.stream_id and y.running
        where c.due_at > ${from} and c.due_at <= clock_timestamp() and c.stream_id <> all(${[...except]}::integer[]) order by c.due_at limit 1)
      select y.id, y.name, y.dir, y.stream_id, array(
        select c.bead_id from run_controls c where c.stream_id = y.stream_id and c.due_at <= clock_timestamp() order by c.due_at limit ${limit}) as ids
      from first f join cities y on y.stream_id = f.stream_id`.execute(this.db);
    const row = rows[0];
    if (row === undefined && except.length === 0) await this.#passed.foundNothing(this.db, from);
    return row && { city: { id: row.id, name: row.name, path: row.dir, stream: row.name, streamId: row.stream_id }, ids: row.ids };
  }

  readonly #passedHeard = new PassedOver();

  /** Whether a gate has heard of its message, in whatever city. */
  readonly isHeard = sql<boolean>`exists (select from run_heard_gates h where h.heard_at > ${this.#passedHeard})`;

  /** As `nextDue`, of gates that have heard of their message. */
  async nextHeard(except: readonly number[], limit: number): Promise<{ city: CityScope; ids: string[] } | undefined> {
    const from = this.#passedHeard.from();
    const { rows } = await sql<{ city: CityScope; ids: string[] }>`
      with first as (
        select h.stream_id from run_heard_gates h join cities y on y.stream_id = h.stream_id and y.running
        where h.heard_at > ${from} and h.stream_id <> all(${[...except]}::integer[]) order by h.heard_at limit 1)
      select json_build_object('id', y.id, 'name', y.name, 'path', y.dir, 'stream', y.name, 'streamId', y.stream_id) as city, array(
        select h.bead_id from run_heard_gates h where h.stream_id = y.stream_id order by h.heard_at, h.bead_id limit ${limit}) as ids
      from first f join cities y on y.stream_id = f.stream_id`.execute(this.db);
    if (rows.length === 0 && except.length === 0) await this.#passedHeard.foundNothing(this.db, from);
    return rows[0];
  }
}
