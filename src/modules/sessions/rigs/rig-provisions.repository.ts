import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { z } from 'zod';
import { Db, type Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';

/** What a worker is about to make on disk: absolute paths. */
export const Manifest = z.object({
  /** Where the rig will lie. */
  target: z.string(),
  /** The target was there, empty. */
  existed: z.boolean(),
  /** Directories above the target that are not there yet, from the outermost in. */
  parents: z.array(z.string()),
});
export type Manifest = z.infer<typeof Manifest>;

export type ProvisionState = 'in_flight' | 'succeeded' | 'rolled_back';

export interface Provision {
  readonly requestId: string;
  readonly name: string;
  readonly digest: string;
  readonly state: ProvisionState;
  readonly operationId: string;
  readonly eventCursor: string;
  /** The city's directory. */
  readonly dir: string;
  readonly manifest: Manifest | null;
  /** The rig has been put into the configuration. */
  readonly made: boolean;
  readonly leftovers: boolean;
}

export type NewProvision = Pick<Provision, 'requestId' | 'name' | 'digest' | 'operationId' | 'eventCursor' | 'dir'>;

interface Row extends Omit<Provision, 'manifest'> {
  readonly manifest: unknown;
}

const COLUMNS = sql`request_id as "requestId", name, digest, state, operation_id as "operationId", event_cursor as "eventCursor", dir,
  manifest, made, leftovers`;
/**
 * Under the lock of 7 and the city names are claimed; 1 is the stream's, 2 the work's. The release before claims them under 3, which it has alone
 * and this one with others.
 */
const lockOf = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`pg_advisory_xact_lock_shared(3, ${id}), pg_advisory_xact_lock(7, ${id})`;

/** All SQL about rigs that are being made. */
@Injectable()
export class RigProvisionsRepository {
  constructor(private readonly db: Db) {}

  /** Whoever gives a name away, or takes it, holds this until the transaction ends. After every other lock but the stream's. */
  async lock(tx: Tx, streamId: number): Promise<void> {
    await sql`select ${lockOf(sql`${streamId}::int`)}`.execute(tx);
  }

  async lockByName(tx: Tx, stream: string): Promise<void> {
    await sql`select ${lockOf(sql`id`)} from event_streams where name = ${stream}`.execute(tx);
  }

  async find(streamId: number, requestId: string, db: Kysely<Database> = this.db): Promise<Provision | undefined> {
    return this.#one(sql`stream_id = ${streamId} and request_id = ${requestId}`, db);
  }

  /** The request that has claimed a name. */
  async claim(streamId: number, name: string, db: Kysely<Database> = this.db): Promise<Provision | undefined> {
    return this.#one(sql`stream_id = ${streamId} and name = ${name} and state = 'in_flight'`, db);
  }

  async ofOperation(operationId: string, db: Kysely<Database> = this.db): Promise<Provision | undefined> {
    return this.#one(sql`operation_id = ${operationId}`, db);
  }

  /** Starts a request, for the first time or again. */
  async start(tx: Tx, streamId: number, { requestId, name, digest, operationId, eventCursor, dir }: NewProvision): Promise<void> {
    await sql`
      insert into rig_provisions (stream_id, request_id, name, digest, state, operation_id, event_cursor, dir)
      values (${streamId}, ${requestId}, ${name}, ${digest}, 'in_flight', ${operationId}, ${eventCursor}, ${dir})
      on conflict (stream_id, request_id) do update set name = excluded.name, state = excluded.state,
        operation_id = excluded.operation_id, event_cursor = excluded.event_cursor, dir = excluded.dir, manifest = null, made = false,
        leftovers = false, prefix = null, default_branch = null, updated_at = now()`.execute(tx);
  }

  /** Says what is about to be made; answers what was said first. Undefined when the request is over. */
  async plan(operationId: string, manifest: Manifest): Promise<Manifest | undefined> {
    const { rows } = await sql<{ manifest: unknown }>`
      update rig_provisions set manifest = coalesce(manifest, ${JSON.stringify(manifest)}::jsonb), updated_at = now()
      where operation_id = ${operationId} and state = 'in_flight' returning manifest`.execute(this.db);
    return rows[0] === undefined ? undefined : Manifest.parse(rows[0].manifest);
  }

  /** The rig is in the configuration. False when the request is over. */
  async made(tx: Tx, operationId: string, facts: { prefix: string; defaultBranch: string }): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update rig_provisions set made = true, prefix = ${facts.prefix}, default_branch = ${facts.defaultBranch}, updated_at = now()
      where operation_id = ${operationId} and state = 'in_flight'`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** What the terminal event of a request says whose rig has been made. */
  async facts(operationId: string, db: Kysely<Database> = this.db): Promise<{ prefix: string; defaultBranch: string } | undefined> {
    const { rows } = await sql<{ prefix: string; defaultBranch: string }>`
      select prefix, default_branch as "defaultBranch" from rig_provisions where operation_id = ${operationId} and made`.execute(db);
    return rows[0];
  }

  async head(tx: Tx, streamId: number): Promise<number> {
    return (await tx.selectFrom('event_streams').select('head').where('id', '=', streamId).executeTakeFirstOrThrow()).head;
  }

  /** True while the request is in flight; it stays so until the transaction ends. */
  async isInFlight(tx: Tx, operationId: string): Promise<boolean> {
    const { rows } = await sql`
      select from rig_provisions where operation_id = ${operationId} and state = 'in_flight' for share`.execute(tx);
    return rows.length === 1;
  }

  /** Ends a request. What was made counts, whatever ended it. Leftovers are not touched while a last step may still go on. */
  async end(tx: Tx, operationId: string, outcome: 'succeeded' | 'rolled_back', leftovers: boolean): Promise<void> {
    await sql`
      update rig_provisions set state = case when made then 'succeeded' else ${outcome} end, leftovers = ${leftovers} and not made,
        updated_at = now() + case when ${leftovers} then interval '30 seconds' else interval '0' end
      where operation_id = ${operationId} and state = 'in_flight'`.execute(tx);
  }

  /** Whether something may lie on disk of a failed request whose time has come. */
  readonly isDue = sql<boolean>`(select p.updated_at <= now() from rig_provisions p where p.leftovers order by p.updated_at limit 1)`;

  /** Failed requests of which something may still lie on disk; their time comes again after `pauseS` seconds. */
  async takeLeftovers(tx: Tx, limit: number, pauseS: number): Promise<Provision[]> {
    const { rows } = await sql<Row>`
      update rig_provisions set updated_at = now() + ${pauseS}::float8 * interval '1 second'
      where (stream_id, request_id) in (
        select stream_id, request_id from rig_provisions where leftovers and updated_at <= now() order by updated_at limit ${limit}
        for update skip locked) returning ${COLUMNS}`.execute(tx);
    return rows.map(toProvision);
  }

  async forgetLeftovers(tx: Tx, operationId: string): Promise<void> {
    await sql`update rig_provisions set leftovers = false, updated_at = now() where operation_id = ${operationId}`.execute(tx);
  }

  /** Deletes up to `limit` requests that ended over `keepS` seconds ago. */
  async purge(tx: Tx, keepS: number, limit: number): Promise<void> {
    await sql`
      delete from rig_provisions where (stream_id, request_id) in (
        select stream_id, request_id from rig_provisions
        where state <> 'in_flight' and not leftovers and updated_at < now() - ${keepS}::float8 * interval '1 second' limit ${limit}
        for update skip locked)`.execute(tx);
  }

  async #one(where: ReturnType<typeof sql>, db: Kysely<Database>): Promise<Provision | undefined> {
    const { rows } = await sql<Row>`select ${COLUMNS} from rig_provisions where ${where}`.execute(db);
    return rows[0] === undefined ? undefined : toProvision(rows[0]);
  }
}

function toProvision(row: Row): Provision {
  return { ...row, manifest: row.manifest === null ? null : Manifest.parse(row.manifest) };
}
