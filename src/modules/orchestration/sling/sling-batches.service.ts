import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Work } from '../../work/work/work.js';
import { WorkService, type Done } from '../../work/work/work.service.js';
import { batchTarget, SlingBatch } from './sling-batches.operations.js';
import { SlingBatchesRepository, type NewBatch } from './sling-batches.repository.js';
import type { SlingBatchBody, SlingBatchCancelBody, SlingBatchQuery, SlingBatchResponse } from './sling.schemas.js';

/** Batches of many slings, which workers carry out: accepting them, looking at them, canceling them. */
@Injectable()
export class SlingBatches {
  constructor(
    private readonly work: WorkService,
    private readonly repository: SlingBatchesRepository,
    private readonly operations: Operations,
  ) {}

  /** Accepts a batch in the transaction of the caller. */
  async accept(work: Work, batch: NewBatch): Promise<SlingBatchResponse> {
    const { tx, city } = work;
    const { stream, streamId } = city;
    const requestId = this.operations.newRequestId();
    const eventCursor = String(await work.head());
    await this.repository.insert(tx, streamId, requestId, batch);
    await this.operations.accept(tx, SlingBatch, {
      target: batchTarget(requestId),
      input: { streamId, requestId },
      stream,
      eventCursor,
      subject: requestId,
      requestId,
    });
    return {
      ...{ status: 'accepted', target: batch.asked.target, results: [], slung: 0, refused: 0, skipped: batch.skipped.length },
      ...{ total: batch.beads.length, request_id: requestId, event_cursor: eventCursor },
    };
  }

  /** @throws ProblemError sling_batch_not_found, invalid_cursor */
  async get(city: CityScope, requestId: string, { limit, cursor, status }: SlingBatchQuery): Promise<SlingBatchBody> {
    const after = parseCursor(cursor);
    // The results first: what they are counted among has come at least as far.
    const page = await this.repository.results(city.streamId, requestId, { after, limit, status });
    const row = await this.repository.find(city.streamId, requestId);
    if (row === undefined) throw batchNotFound(requestId);
    const { slung, done, skipped, total, target } = row;
    const last = page.rows.at(-1);
    return {
      ...{ request_id: requestId, status: row.status, target, total, done, slung, refused: done - slung, skipped },
      created_at: row.created_at.toISOString(),
      ...(row.finished_at === null ? {} : { finished_at: row.finished_at.toISOString() }),
      ...(row.error_code === null ? {} : { error_code: row.error_code, error_message: row.error_message ?? '' }),
      results: page.rows.map(({ result }) => result),
      ...(page.more && last !== undefined ? { next_cursor: encodeToken({ k: 'sling-batch', n: last.n }) } : {}),
    };
  }

  /**
   * What was slung stays; from the answer on nothing more is. `again` says that it was canceled before.
   *
   * @throws ProblemError sling_batch_not_found; wrong_state for one that has ended otherwise
   */
  cancel(city: CityScope, requestId: string, { actor }: Principal): Promise<Done<SlingBatchCancelBody & { again: boolean }>> {
    return this.work.run(city, actor, async ({ tx }) => {
      const row = await this.repository.lock(tx, city.streamId, requestId);
      if (row === undefined) throw batchNotFound(requestId);
      const { status, done, finished_at: finished } = row;
      const again = status === 'canceled' || status === 'canceling';
      if (!again && finished !== null) throw problem('wrong_state', `batch ${requestId} has ended: ${status}; nothing to cancel`);
      if (!again) await this.repository.cancel(tx, city.streamId, requestId);
      return { status: again ? status : 'canceling', done, again };
    });
  }
}

function batchNotFound(requestId: string): Error {
  return problem('sling_batch_not_found', `batch ${requestId} not found`);
}

function parseCursor(text: string | undefined): number {
  if (text === undefined) return 0;
  const { k, n } = decodeToken(text) ?? {};
  if (k === 'sling-batch' && typeof n === 'number' && Number.isInteger(n) && n >= 0 && n <= 1_000_000) return n;
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}
