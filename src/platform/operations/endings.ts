import { Injectable } from '@nestjs/common';
import { RequestFailed } from '../../contract/events/requests.events.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { isRetryable } from '../database/pg-errors.js';
import { retrying } from '../database/retrying.js';
import { Transactions, type Tx } from '../database/transactions.js';
import { EventLog } from '../event-log/event-log.js';
import { event, type NewEvent } from '../event-log/event.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { AppLogger } from '../logging/logger.js';
import type { ClaimedOperation, OperationHandler, OperationOutcome } from './operation.js';
import { OperationMetrics } from './operation-metrics.js';
import type { ClaimedRow } from './operation-claims.repository.js';
import { OperationsRepository, type Ending } from './operations.repository.js';

const ACTOR = 'reconciler';
const LONGEST_PAUSE_MS = 2_000;

/** Whether the claim that an ending relies on may still be good. */
export type StillHeld = () => boolean;

/**
 * The only place where operations end. The row's state and its terminal event change in one transaction, guarded by
 * state and fence, so that of all workers that believe they hold an operation at most one ends it, and it ends once.
 */
@Injectable()
export class OperationEndings {
  constructor(
    private readonly repository: OperationsRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
    private readonly metrics: OperationMetrics,
  ) {}

  /** Ends the operation as its handler says. Throws what the handler's `within` throws: then nothing has changed. */
  async conclude(row: ClaimedRow, handler: OperationHandler, outcome: OperationOutcome, held: StillHeld): Promise<boolean> {
    const began = performance.now();
    const terminal = outcome.ok ? succeeded(row, handler, outcome.payload) : failed(row, handler, outcome.code, outcome.message);
    const ending: Ending = outcome.ok
      ? { state: 'succeeded', result: terminal.payload }
      : { state: 'failed', code: outcome.code, message: outcome.message };
    await this.failpoints.hit('operation.before_finish');
    const done = await this.#commit(row, handler, held, ending, terminal, (tx) => outcome.within?.(tx));
    if (done) this.#record(row, outcome.ok ? 'succeeded' : outcome.code, began);
    await this.failpoints.hit('operation.after_finish');
    return done;
  }

  /** Ends the operation from outside. It ends even when the handler's `failed` throws. */
  async fail(
    row: ClaimedRow,
    handler: OperationHandler | undefined,
    operation: ClaimedOperation | undefined,
    failure: { code: string; message: string },
    held: StillHeld,
  ): Promise<boolean> {
    const began = performance.now();
    const { code, message } = failure;
    const ending: Ending = { state: 'failed', code, message };
    const terminal = failed(row, handler, code, message);
    await this.failpoints.hit('operation.before_fail');
    let done: boolean;
    try {
      done = await this.#commit(row, handler, held, ending, terminal, (tx) => operation && handler?.failed?.(tx, operation, code, message));
    } catch (error) {
      if (operation === undefined || handler?.failed === undefined || isRetryable(error)) throw error;
      this.log.error({ err: error, request_id: row.id, kind: row.kind }, 'a failing operation could not clean up; it ends without');
      done = await this.#commit(row, undefined, held, ending, terminal, () => undefined);
    }
    if (done) this.#record(row, code, began);
    await this.failpoints.hit('operation.after_finish');
    return done;
  }

  /** Repeats the transaction while the database is away and the claim is good. `finish` refuses it when an earlier try was committed after all. */
  async #commit(
    row: ClaimedRow,
    handler: OperationHandler | undefined,
    held: StillHeld,
    ending: Ending,
    terminal: NewEvent,
    within: (tx: Tx) => Promise<readonly NewEvent[]> | undefined,
  ): Promise<boolean> {
    const key = row.stream === SUPERVISOR_STREAM ? row.target : row.stream;
    const end = async (tx: Tx): Promise<boolean> => {
      await handler?.lock?.(tx, row.target, row.stream);
      if (!(await this.repository.finish(tx, row.id, row.fence, ending))) return false;
      const beside = (await within(tx)) ?? [];
      await this.eventLog.append(tx, [...beside, terminal]);
      return true;
    };
    return retrying(() => this.transactions.run(end, { key }), { mostMs: LONGEST_PAUSE_MS, goesOn: held });
  }

  #record(row: ClaimedRow, outcome: string, began: number): void {
    const seconds = (row.ageMs + performance.now() - began) / 1000;
    this.metrics.finished(row.kind, outcome, seconds);
    const rounded = Math.round(seconds * 1_000) / 1_000;
    this.log.info(
      { request_id: row.id, kind: row.kind, outcome, target: row.target, attempt: row.attempts, seconds: rounded },
      'operation ended',
    );
  }
}

function succeeded(row: ClaimedRow, handler: OperationHandler, payload: Record<string, unknown>): NewEvent {
  const facts = { stream: row.stream, actor: ACTOR, subject: row.subject ?? row.target };
  return event(handler.definition.succeeded, { ...facts, payload: { ...payload, request_id: requestIdOf(row, handler) } });
}

/** A failure is always told: a row that the declared payload does not fit (an unknown kind) goes out as it is. */
function failed(row: ClaimedRow, handler: OperationHandler | undefined, code: string, message: string): NewEvent {
  const payload = { request_id: requestIdOf(row, handler), operation: row.kind, error_code: code, error_message: message };
  const checked = RequestFailed.payload.safeParse(payload);
  return {
    type: RequestFailed.type,
    version: RequestFailed.version,
    stream: row.stream,
    actor: ACTOR,
    subject: row.subject ?? row.target,
    payload: checked.success ? checked.data : payload,
  };
}

/** The id that the client knows: its own where it gave one. */
function requestIdOf(row: ClaimedRow, handler: OperationHandler | undefined): string {
  const input = handler?.requestId === undefined ? undefined : handler.definition.input.safeParse(row.input);
  return input?.success === true ? handler!.requestId!(input.data) : row.id;
}
