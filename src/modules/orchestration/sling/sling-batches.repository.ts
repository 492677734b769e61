import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { SessionCaller } from '../../../contract/principal.js';
import { Db } from '../../../platform/database/database.js';
import { fitted, fitting, wholePage, type Fitted } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { ChosenFormula } from './sling-formulas.js';
import type { SlingBatchResult, SlingOptions } from './sling.schemas.js';

/** The options of a request, with the canonical name of the target, and the session that asked. */
export type Asked = SlingOptions & { readonly session?: SessionCaller };

/** A batch as it is accepted: what counts is what the request meant then. */
export interface NewBatch {
  readonly actor: string;
  readonly asked: Asked;
  readonly formula: ChosenFormula | undefined;
  readonly convoy: string | undefined;
  readonly beads: readonly string[];
  readonly skipped: readonly string[];
}

/** What comes next of a batch. */
export interface Portion {
  readonly actor: string;
  readonly asked: Asked;
  readonly formula: ChosenFormula | null;
  readonly convoy: string | null;
  readonly beads: readonly string[];
  /** How many were slung or refused before. */
  readonly done: number;
  readonly total: number;
  readonly canceled: boolean;
}

export type BatchStatus = 'accepted' | 'running' | 'canceling' | 'slung' | 'partial' | 'refused' | 'canceled' | 'failed';

export interface BatchRow {
  readonly status: BatchStatus;
  readonly target: string;
  readonly total: number;
  readonly done: number;
  readonly slung: number;
  readonly skipped: number;
  readonly created_at: Date;
  readonly finished_at: Date | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

export interface Ended {
  readonly status: 'slung' | 'partial' | 'refused' | 'canceled' | 'failed';
  readonly code?: string;
  readonly message?: string;
}

const ROW = sql`coalesce(b.status, case when b.canceled_at is not null then 'canceling' when b.done = 0 then 'accepted' else 'running' end) as status,
  b.target, cardinality(b.beads) as total, b.done, b.slung, b.skipped, b.created_at, b.finished_at, b.error_code, b.error_message`;

/** SQL of batches of many slings. Whoever writes one holds the city's work lock, but for its end. */
@Injectable()
export class SlingBatchesRepository {
  constructor(private readonly db: Db) {}

  async insert(tx: Tx, streamId: number, requestId: string, batch: NewBatch): Promise<void> {
    const { actor, asked, formula, convoy, beads, skipped } = batch;
    await sql`
      insert into sling_batches (stream_id, request_id, actor, asked, formula, convoy, target, beads, skipped)
      values (${streamId}, ${requestId}, ${actor}, ${JSON.stringify(asked)}::jsonb, ${formula === undefined ? null : JSON.stringify(formula)}::jsonb,
        ${convoy ?? null}, ${asked.target}, ${[...beads]}::text[], ${skipped.length})`.execute(tx);
    const left = skipped.map((bead): SlingBatchResult => ({ bead, status: 'skipped' }));
    await this.#results(tx, streamId, requestId, beads.length, left);
  }

  /** What comes next, so much at the most; undefined for a batch that is not there or has ended. */
  async next(db: Tx | Db, streamId: number, requestId: string, most: number): Promise<Portion | undefined> {
    const { rows } = await sql<Portion>`
      select b.actor, b.asked, b.formula, b.convoy, b.beads[b.done + 1 : b.done + ${most}::integer] as beads, b.done, cardinality(b.beads) as total,
        b.canceled_at is not null as canceled
      from sling_batches b where b.stream_id = ${streamId} and b.request_id = ${requestId} and b.status is null`.execute(db);
    return rows[0];
  }

  portion(streamId: number, requestId: string, most: number): Promise<Portion | undefined> {
    return this.next(this.db, streamId, requestId, most);
  }

  /** Keeps what became of the beads behind the first `done`. */
  async keep(tx: Tx, streamId: number, requestId: string, done: number, results: readonly SlingBatchResult[]): Promise<void> {
    const slung = results.filter(({ status }) => status === 'slung').length;
    await sql`
      update sling_batches b set done = ${done + results.length}, slung = b.slung + ${slung}
      where b.stream_id = ${streamId} and b.request_id = ${requestId}`.execute(tx);
    await this.#results(tx, streamId, requestId, done, results);
  }

  async #results(tx: Tx, streamId: number, requestId: string, from: number, results: readonly SlingBatchResult[]): Promise<void> {
    if (results.length === 0) return;
    await sql`
      insert into sling_batch_results (stream_id, request_id, n, status, result)
      select ${streamId}, ${requestId}, ${from}::integer + r.n, r.result ->> 'status', r.result
      from json_array_elements(${JSON.stringify(results)}::json) with ordinality as r(result, n)`.execute(tx);
  }

  async end(tx: Tx, streamId: number, requestId: string, { status, code, message }: Ended): Promise<void> {
    await sql`
      update sling_batches b set status = ${status}, error_code = ${code ?? null}, error_message = ${message ?? null}, finished_at = clock_timestamp()
      where b.stream_id = ${streamId} and b.request_id = ${requestId} and b.status is null`.execute(tx);
  }

  /** From here on nothing more of it is slung. */
  async cancel(tx: Tx, streamId: number, requestId: string): Promise<void> {
    await sql`
      update sling_batches b set canceled_at = clock_timestamp()
      where b.stream_id = ${streamId} and b.request_id = ${requestId} and b.status is null and b.canceled_at is null`.execute(tx);
  }

  async lock(tx: Tx, streamId: number, requestId: string): Promise<BatchRow | undefined> {
    const { rows } = await sql<BatchRow>`
      select ${ROW} from sling_batches b where b.stream_id = ${streamId} and b.request_id = ${requestId} for update`.execute(tx);
    return rows[0];
  }

  async find(streamId: number, requestId: string): Promise<BatchRow | undefined> {
    const { rows } = await sql<BatchRow>`
      select ${ROW} from sling_batches b where b.stream_id = ${streamId} and b.request_id = ${requestId}`.execute(this.db);
    return rows[0];
  }

  /** A page of what became of its beads, behind the `after`th. */
  async results(
    streamId: number,
    requestId: string,
    { after, limit, status }: { readonly after: number; readonly limit: number; readonly status: string | undefined },
  ): Promise<{ readonly rows: readonly { readonly n: number; readonly result: SlingBatchResult }[]; readonly more: boolean }> {
    const some = sql`
      select r.n, r.result, octet_length(r.result::text) as bytes from sling_batch_results r
      where r.stream_id = ${streamId} and r.request_id = ${requestId} and r.n > ${after} and (${status ?? null}::text is null or r.status = ${status ?? null})
      order by r.n limit ${limit + 1}`;
    const { rows } = await sql<
      { n: number; result: SlingBatchResult } & Fitted
    >`${fitting(some, sql`n`, wholePage(limit))} order by f.n`.execute(this.db);
    return fitted(rows);
  }

  /** Forgets some that ended so long ago, with what became of their beads; answers how many. */
  async purge(tx: Tx, olderMs: number, limit: number): Promise<number> {
    const { rows } = await sql`
      delete from sling_batches where (stream_id, request_id) in (
        select b.stream_id, b.request_id from sling_batches b where b.finished_at < now() - ${olderMs} * interval '1 millisecond'
        order by b.finished_at limit ${limit} for update skip locked)
      returning 1`.execute(tx);
    return rows.length;
  }

  async runningCity(streamId: number): Promise<CityScope | undefined> {
    const { rows } = await sql<CityScope>`
      select c.id, c.name, c.dir as path, c.name as stream, c.stream_id as "streamId" from cities c
      where c.stream_id = ${streamId} and c.running`.execute(this.db);
    return rows[0];
  }
}
