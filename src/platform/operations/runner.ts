import { Injectable } from '@nestjs/common';
import { Db } from '../database/database.js';
import { isRetryable } from '../database/pg-errors.js';
import { preparing } from '../turns/preparing.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { AppLogger } from '../logging/logger.js';
import { currentSpan, isTracing, spanned } from '../telemetry/spans.js';
import { sleep } from '../time/clock.js';
import { OperationEndings } from './endings.js';
import { Lease, OperationAborted, type LeaseEnd } from './lease.js';
import { WAIT_MS, type ClaimedOperation, type OperationContext, type OperationHandler, type OperationOutcome } from './operation.js';
import { OperationRegistry } from './registry.js';
import type { ClaimedRow } from './operation-claims.repository.js';
import { OperationsRepository } from './operations.repository.js';
import { OperationClaims, type Taken } from './operation-claims.js';
import { Semaphore } from '../turns/semaphore.js';
import { OperationTimings } from './timings.js';

type Attempt = { readonly outcome: OperationOutcome } | { readonly error: unknown };

/**
 * Runs operations in the places of this process. A job of the queue, or who has accepted an operation here, only says that something waits. The claim decides which operation is run, and the
 * fence decides again at its end.
 */
@Injectable()
export class OperationRunner {
  readonly #places: Semaphore;
  readonly #leases = new Set<Lease>();
  #stopping = false;

  constructor(
    private readonly claims: OperationClaims,
    private readonly repository: OperationsRepository,
    private readonly registry: OperationRegistry,
    private readonly endings: OperationEndings,
    private readonly db: Db,
    private readonly failpoints: Failpoints,
    private readonly timings: OperationTimings,
    private readonly log: AppLogger,
  ) {
    this.#places = new Semaphore(timings.concurrency);
  }

  /** How many more operations may be taken now. */
  get free(): number {
    return this.#stopping ? 0 : this.#places.free;
  }

  /**
   * Takes a free place and what waits, and runs operations there until none waits. Answers at once with the id of the first; undefined where no place
   * is free or nothing may be taken here, such as of a city that has its share. Never throws.
   */
  async begin(): Promise<string | undefined> {
    if (this.free === 0) return undefined;
    const leave = this.#places.take();
    const first = await preparing(() => this.#take());
    if (first === undefined) leave();
    else void preparing(() => this.#serve(leave, first));
    return first?.row.id;
  }

  /** Handles a job of the queue: takes a place and runs operations there until none waits. Never throws. */
  async deliver(): Promise<void> {
    const leave = await this.#places.enter();
    await preparing(() => this.#serve(leave));
  }

  /** Fills the free places with operations that have lost their worker and with those that the queue did not bring. */
  fill(): Promise<void> {
    return preparing(() => this.#fill());
  }

  async #fill(): Promise<void> {
    while (this.free > 0) {
      const leave = this.#places.take();
      const taken = await this.#take(async () => (await this.claims.lost()) ?? (await this.claims.next(this.timings.pickupMs)));
      if (taken === undefined) return leave();
      void this.#serve(leave, taken);
    }
  }

  /** Runs an operation that is already claimed for this process, also when no place is free. Never throws. */
  async runClaimed(row: ClaimedRow): Promise<void> {
    const leave = this.#places.take();
    await preparing(() => this.#runLogged(row)).finally(leave);
  }

  /** Tells every handler to stop, waits a moment, and puts back the operations that have not ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const lease of this.#leases) lease.end('stopping');
    await this.#places.idle();
  }

  /** Runs one operation after the other in one place. Each is chosen when the one before it has ended: by then it may be another city's turn. */
  async #serve(leave: () => void, first?: Taken): Promise<void> {
    for (let taken = first ?? (await this.#take()); taken !== undefined; taken = await this.#take())
      await this.#runLogged(taken.row).finally(taken.leave);
    leave();
  }

  async #take(take: () => Promise<Taken | undefined> = () => this.claims.next()): Promise<Taken | undefined> {
    if (this.#stopping) return undefined;
    return take().catch((error: unknown) => {
      this.log.warn({ err: error }, 'operations that wait were left to the sweeper');
      return undefined;
    });
  }

  /** Never throws. */
  async #runLogged(row: ClaimedRow): Promise<void> {
    try {
      await this.#traced(row);
    } catch (error) {
      this.log.warn({ err: error, request_id: row.id }, 'a claimed operation was left to the sweeper');
    }
  }

  async #traced(row: ClaimedRow): Promise<void> {
    if (!isTracing()) return this.#handle(row);
    const { id, kind, city, attempts } = row;
    const facts = { 'svc.operation.id': id, 'svc.operation.kind': kind, 'svc.operation.attempt': attempts, 'svc.city': city };
    await spanned(`operation ${kind}`, { kind: 'consumer', parent: row.traceparent, facts }, () => this.#handle(row));
  }

  async #handle(row: ClaimedRow): Promise<void> {
    await this.failpoints.hit('operation.after_claim');
    const began = performance.now();
    const withinLease = (): boolean => performance.now() - began < this.timings.leaseMs;
    const handler = this.registry.find(row.kind);
    const operation = handler && toOperation(row, handler);
    if (handler !== undefined && operation === undefined && row.deadlineInMs > 0 && row.attempts < handler.definition.maxAttempts) {
      this.log.warn(
        { request_id: row.id, kind: row.kind },
        "an operation's stored input does not fit its schema; another release may read it",
      );
      return this.#putBack(row, this.timings.backoff(row.attempts), true);
    }
    const failure = this.#refuse(row, handler, operation);
    if (failure !== undefined) await this.endings.fail(row, handler, operation, failure, withinLease);
    else if (handler !== undefined && operation !== undefined) await this.#work(row, handler, operation);
  }

  /** Why the operation ends here without being tried (again). */
  #refuse(row: ClaimedRow, handler?: OperationHandler, operation?: ClaimedOperation): { code: string; message: string } | undefined {
    // A kind without a handler is claimed only past its deadline: until then a worker of another release may have the handler.
    if (handler === undefined) {
      this.log.error({ request_id: row.id, kind: row.kind }, 'an operation has no handler');
      return row.waited ? NOT_STARTED : { code: 'timeout', message: `not finished in its time, and no worker knows ${row.kind}` };
    }
    if (operation === undefined) {
      this.log.error({ request_id: row.id, kind: row.kind }, "an operation's stored input does not fit its schema");
      return { code: 'internal_error', message: 'the stored request cannot be read' };
    }
    if (row.deadlineInMs <= 0) return row.waited ? NOT_STARTED : timeout(handler);
    const { maxAttempts } = handler.definition;
    return row.attempts > maxAttempts ? { code: 'internal_error', message: `gave up after ${maxAttempts} attempts` } : undefined;
  }

  async #work(row: ClaimedRow, handler: OperationHandler, operation: ClaimedOperation): Promise<void> {
    const { leaseMs } = this.timings;
    const renew = (): Promise<boolean> => this.repository.renew(this.db, row.id, row.fence, leaseMs);
    const lease = new Lease(renew, this.timings, row.deadlineInMs);
    this.#leases.add(lease);
    if (this.#stopping) lease.end('stopping');
    try {
      const attempt = this.#attempt(row, handler, operation, lease);
      const first = await Promise.race([attempt, lease.ended]);
      if (typeof first !== 'string') await this.#attempted(row, handler, operation, lease, first);
      else await this.#interrupted(row, handler, operation, lease, first, attempt);
    } finally {
      lease.close();
      this.#leases.delete(lease);
    }
  }

  async #attempt(row: ClaimedRow, handler: OperationHandler, operation: ClaimedOperation, lease: Lease): Promise<Attempt> {
    try {
      return { outcome: await handler.run(operation, this.#context(row, handler, lease)) };
    } catch (error) {
      return { error };
    }
  }

  #context(row: ClaimedRow, handler: OperationHandler, lease: Lease): OperationContext {
    const { deadlineMs } = handler.definition;
    const { id, fence } = row;
    const recorded = async (held: boolean): Promise<void> => {
      if (!held) {
        lease.end('lost');
        throw new OperationAborted('lost');
      }
      lease.deadlineIn(deadlineMs);
      await this.failpoints.hit('operation.after_phase');
    };
    return {
      signal: lease.signal,
      progress: async (phase) => {
        lease.signal.throwIfAborted();
        await recorded(await this.repository.progress(this.db, id, fence, { phase, deadlineMs, anew: false }));
      },
      progressWith: async (phase, write) => {
        lease.signal.throwIfAborted();
        const { held, written } = await this.repository.progressWith(this.db, id, fence, { phase, deadlineMs, anew: false }, write);
        if (written !== undefined) await recorded(held);
        return written;
      },
      advanced: async (phase) => {
        lease.signal.throwIfAborted();
        const held = await this.repository.progress(this.db, id, fence, { phase, deadlineMs, anew: true });
        if (held) lease.advanced = true;
        await recorded(held);
      },
    };
  }

  async #attempted(row: ClaimedRow, handler: OperationHandler, operation: ClaimedOperation, lease: Lease, attempt: Attempt): Promise<void> {
    const held = (): boolean => lease.held;
    let error: unknown;
    if ('outcome' in attempt) {
      try {
        await this.endings.conclude(row, handler, attempt.outcome, held);
        return;
      } catch (failure) {
        error = failure;
      }
    } else error = attempt.error;
    if (!lease.held) return this.#logLeft(row, 'lost');
    await this.#failedAttempt(lease.advanced ? { ...row, attempts: 1 } : row, handler, operation, held, error);
  }

  async #failedAttempt(
    row: ClaimedRow,
    handler: OperationHandler,
    operation: ClaimedOperation,
    held: () => boolean,
    error: unknown,
  ): Promise<void> {
    const { attempts } = row;
    const last = attempts >= handler.definition.maxAttempts;
    this.log.warn({ err: error, request_id: row.id, kind: row.kind, attempt: attempts, last }, 'an attempt at an operation failed');
    currentSpan()?.fail('attempt_failed');
    if (last) {
      const failure = { code: 'internal_error', message: `gave up after ${attempts} attempts` };
      await this.endings.fail(row, handler, operation, failure, held);
    } else await this.#putBack(row, this.timings.backoff(attempts), true);
  }

  async #interrupted(
    row: ClaimedRow,
    handler: OperationHandler,
    operation: ClaimedOperation,
    lease: Lease,
    why: LeaseEnd,
    attempt: Promise<Attempt>,
  ): Promise<void> {
    if (why === 'lost') return this.#logLeft(row, why);
    if (why === 'deadline') {
      await this.endings.fail(row, handler, operation, timeout(handler), () => lease.held);
      return;
    }
    const ended = await Promise.race([attempt, sleep(this.timings.graceMs)]);
    if (ended !== undefined && 'outcome' in ended) return this.#attempted(row, handler, operation, lease, ended);
    await this.#putBack(row, 0, false);
    this.#logLeft(row, why);
  }

  async #putBack(row: ClaimedRow, delayMs: number, counted: boolean): Promise<void> {
    try {
      await this.repository.putBack(this.db, row.id, row.fence, { delayMs, counted, waitMs: WAIT_MS });
    } catch (error) {
      if (!isRetryable(error)) throw error;
      this.log.warn({ err: error, request_id: row.id }, 'an operation could not be put back; its lease has to run out');
    }
  }

  #logLeft(row: ClaimedRow, why: LeaseEnd): void {
    this.log.info({ request_id: row.id, kind: row.kind, fence: row.fence, why }, 'an operation was left to another worker');
  }
}

/** Undefined when the stored input does not fit the schema of this release. */
function toOperation(row: ClaimedRow, handler: OperationHandler): ClaimedOperation | undefined {
  const parsed = handler.definition.input.safeParse(row.input);
  if (!parsed.success) return undefined;
  const { id, kind, target, stream, attempts, fence } = row;
  return Object.freeze({ id, kind, target, stream, input: parsed.data, attempt: attempts, fence });
}

const NOT_STARTED = { code: 'not_started', message: `no worker had a place for it within ${WAIT_MS / 60_000} minutes` };

function timeout({ definition: { deadlineMs, overdue } }: OperationHandler): { code: string; message: string } {
  const message = `not finished within ${Math.round(deadlineMs / 1000)} s`;
  return { code: 'timeout', message: overdue === undefined ? message : `${message}; ${overdue}` };
}
