import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { beadBytes } from './bead-bytes.js';
import type { Edge } from './bead-record.js';
import { HEAVY } from './work.repository.js';

/** Whoever takes a step holds the rest for so long: others would only take turns with it, and all writers wait for each of them. */
const HELD = '3 seconds';
/** What the events of one step have together, about, and for how many bytes of them a convoy or a wait is taken beside its own. */
const STEP_BYTES = 1024 * 1024;
const HEAVY_BYTES = 20 * 1024;

/** How far a fan-out has come: the edges are taken in the order of their types and dependents. */
export interface FanOut {
  readonly after_type: string;
  readonly after_id: string;
  readonly told: number;
  readonly changed: number;
}

export interface DueFanOut {
  readonly city: CityScope;
  readonly bead: string;
}

/** SQL of fan-outs. What is written is written under the city's work lock. */
@Injectable()
export class FanOutsRepository {
  constructor(private readonly db: Db) {}

  /** Whether there is a fan-out, whoever goes on with it. */
  readonly isDue = sql<boolean>`exists (select from bead_fan_outs)`;

  /** The oldest fan-out of each running city that nobody else goes on with; `except` are streams to pass over. */
  async due(holder: string, except: readonly number[], limit: number): Promise<DueFanOut[]> {
    const { rows } = await sql<{ id: number; name: string; dir: string; stream_id: number; bead: string }>`
      select c.id, c.name, c.dir, c.stream_id, o.bead_id as bead from (
        select distinct on (f.stream_id) f.* from bead_fan_outs f
        where f.stream_id <> all(${[...except]}::integer[]) and (f.holder = ${holder} or coalesce(f.held_until <= clock_timestamp(), true))
        order by f.stream_id, f.begun_at, f.bead_id) o
      join cities c on c.stream_id = o.stream_id and c.running
      order by o.begun_at limit ${limit}`.execute(this.db);
    return rows.map(({ id, name, dir, stream_id: streamId, bead }) => ({ city: { id, name, path: dir, stream: name, streamId }, bead }));
  }

  /** Takes the fan-out of a bead for the next step; undefined when it has ended, or is another's. */
  async take(tx: Tx, streamId: number, bead: string, holder: string): Promise<FanOut | undefined> {
    const { rows } = await sql<FanOut>`
      update bead_fan_outs f set holder = ${holder}, held_until = clock_timestamp() + ${HELD}::interval
      where f.stream_id = ${streamId} and f.bead_id = ${bead} and (f.holder = ${holder} or coalesce(f.held_until <= clock_timestamp(), true))
      returning f.after_type, f.after_id, f.told, f.changed`.execute(tx);
    return rows[0];
  }

  /** The next edges to a bead, at most so many, and only as long as they cost what a step may; at least one. */
  async edgesAfter(tx: Tx, streamId: number, bead: string, { after_type: type, after_id: id }: FanOut, most: number): Promise<Edge[]> {
    const cost = sql`${beadBytes('b')} + case when d.type = any(${HEAVY}::text[]) then ${HEAVY_BYTES}::integer else 0 end`;
    const { rows } = await sql<Edge>`
      select w.issue_id, w.depends_on_id, w.type from (
        select d.issue_id, d.depends_on_id, d.type, sum(${cost}) over (order by d.type, d.issue_id rows unbounded preceding) - (${cost}) as before from (
          select d.stream_id, d.issue_id, d.depends_on_id, d.type from bead_dependencies d
          where d.stream_id = ${streamId} and d.depends_on_id = ${bead} and (d.type, d.issue_id) > (${type}, ${id})
          order by d.type, d.issue_id limit ${most}) d
        join beads b on b.stream_id = d.stream_id and b.id = d.issue_id) w
      where w.before < ${STEP_BYTES}::integer order by w.type, w.issue_id`.execute(tx);
    return rows;
  }

  async advance(tx: Tx, streamId: number, bead: string, to: FanOut): Promise<void> {
    await sql`
      update bead_fan_outs set after_type = ${to.after_type}, after_id = ${to.after_id}, told = ${to.told}, changed = ${to.changed}
      where stream_id = ${streamId} and bead_id = ${bead}`.execute(tx);
  }

  async end(tx: Tx, streamId: number, bead: string): Promise<void> {
    await tx.deleteFrom('bead_fan_outs').where('stream_id', '=', streamId).where('bead_id', '=', bead).execute();
  }
}
