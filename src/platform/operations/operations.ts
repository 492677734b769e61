import { Injectable } from '@nestjs/common';
import type { Gauge } from 'prom-client';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import { problem } from '../../contract/problems.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { RequestFailed } from '../../contract/events/requests.events.js';
import { Db, type Database } from '../database/database.js';
import { audited } from '../audit/audited-request.js';
import { afterCommit, type Tx } from '../database/transactions.js';
import { event, type NewEvent } from '../event-log/event.js';
import { Metrics } from '../health/metrics.js';
import { currentSpan, isTracing } from '../telemetry/spans.js';
import { newId } from '../time/clock.js';
import { OperationDispatcher } from './dispatcher.js';
import { WAIT_MS, type OperationDefinition, type OperationHandler } from './operation.js';
import { OperationRegistry } from './registry.js';
import { OperationMetrics } from './operation-metrics.js';
import { OperationsRepository, type Backlog, type UnfinishedOperation } from './operations.repository.js';

export interface Acceptance<I> {
  /** What the operation works on. Only one unfinished operation a stream and target. */
  readonly target: string;
  readonly input: I;
  /** The position captured before the operation, as it is answered with the 202. */
  readonly eventCursor: string;
  /** Where the terminal event goes; the supervisor's own stream unless given. */
  readonly stream?: string;
  /** The terminal event's subject; the target unless given. */
  readonly subject?: string;
  /** An id made beforehand with `newRequestId`. */
  readonly requestId?: string;
  /** The message of the 409 when the target has an unfinished operation. */
  readonly conflict?: string;
}

const JUST_ACCEPTED_MS = 2_000;

/** How external work has ended. */
export type ExternalOutcome = (
  | { readonly ok: true; readonly payload: Record<string, unknown> }
  | { readonly ok: false; readonly code: string; readonly message: string }
) & { readonly subject?: string };

/**
 * The accepting half of the operations room. What is accepted in a committed transaction ends with exactly one
 * terminal event, whatever is killed: the row is the truth. The process that accepted it runs it where it may, and the queue has the other workers do it.
 */
@Injectable()
export class Operations {
  constructor(
    private readonly repository: OperationsRepository,
    private readonly dispatcher: OperationDispatcher,
    private readonly registry: OperationRegistry,
    private readonly counts: OperationMetrics,
    private readonly db: Db,
    metrics: Metrics,
  ) {
    this.#measureWaiting(metrics);
    const unfinished: Gauge<'state'> = metrics.gauge({
      name: 'svc_operations',
      help: 'Unfinished operations in the database, by state.',
      labelNames: ['state'],
      collect: async (): Promise<void> => {
        const counts = await metrics.known('unfinished operations', () => repository.countUnfinished(db));
        if (counts === undefined) return unfinished.reset();
        for (const state of ['accepted', 'running']) unfinished.set({ state }, counts.get(state) ?? 0);
      },
    });
  }

  #measureWaiting(metrics: Metrics): void {
    const waiting = metrics.gauge({
      name: 'svc_operations_oldest_waiting_seconds',
      help: 'How long the operation has waited that waits for a worker for longest; 0: none does. Absent while the database does not answer.',
      collect: async (): Promise<void> => {
        const seconds = await metrics.known('waiting operations', () => this.repository.waitingSeconds(this.db));
        if (seconds === undefined) waiting.remove();
        else waiting.set(seconds);
      },
    });
  }

  newRequestId(): string {
    return newId('req');
  }

  /**
   * Accepts an operation in the caller's transaction; after its commit a worker is told.
   *
   * @throws ProblemError operation_in_progress when the target has an unfinished operation.
   * @throws ZodError when the input does not fit: a mistake of the caller, not of a client.
   */
  async accept<I extends z.ZodType, R extends z.ZodType>(
    tx: Tx,
    definition: OperationDefinition<I, R>,
    acceptance: Acceptance<z.input<I>>,
  ): Promise<{ requestId: string }> {
    definition.input.parse(acceptance.input);
    const id = acceptance.requestId ?? this.newRequestId();
    const { kind } = definition;
    const { target, input, eventCursor, stream = SUPERVISOR_STREAM, subject = target } = acceptance;
    const external = definition.external === true;
    const deadlineMs = external ? definition.deadlineMs : WAIT_MS;
    const traceparent = currentSpan()?.traceparent;
    if (!(await this.repository.insert(tx, { id, kind, target, subject, stream, input, eventCursor, deadlineMs, external, traceparent }))) {
      throw problem('operation_in_progress', acceptance.conflict ?? `operation already in progress: ${target}`);
    }
    const request = audited();
    if (request !== undefined) request.accepted = { operationRequestId: id, city: target };
    afterCommit(tx, () => {
      this.counts.accepted(kind);
      if (!external) this.dispatcher.dispatch(kind, id);
    });
    return { requestId: id };
  }

  /**
   * Ends an external operation in the caller's transaction and returns its terminal event, which the caller appends last;
   * undefined when it has ended already. What else the caller locks it locks before.
   */
  async end<I extends z.ZodType, R extends z.ZodType>(
    tx: Tx,
    definition: OperationDefinition<I, R>,
    requestId: string,
    outcome: ExternalOutcome,
  ): Promise<NewEvent | undefined> {
    const row = await this.repository.endExternal(
      tx,
      requestId,
      definition.kind,
      outcome.ok
        ? { state: 'succeeded', result: { ...outcome.payload, request_id: requestId } }
        : { state: 'failed', code: outcome.code, message: outcome.message },
    );
    if (row === undefined) return undefined;
    afterCommit(tx, () => this.counts.finished(definition.kind, outcome.ok ? 'succeeded' : outcome.code, row.ageMs / 1000));
    const facts = { stream: row.stream, actor: 'reconciler', subject: outcome.subject ?? row.subject ?? row.target };
    if (outcome.ok) return event(definition.succeeded, { ...facts, payload: { ...outcome.payload, request_id: requestId } as z.input<R> });
    const payload = { request_id: requestId, operation: definition.kind, error_code: outcome.code, error_message: outcome.message };
    return event(RequestFailed, { ...facts, payload: payload as z.input<typeof RequestFailed.payload> });
  }

  /** The unfinished operation of a target, if any. */
  async unfinished(db: Kysely<Database>, target: string, stream = SUPERVISOR_STREAM): Promise<UnfinishedOperation | undefined> {
    return this.repository.findUnfinished(db, stream, target);
  }

  /** The trace that an operation belongs to, by its id or as the unfinished one of a target. Without tracing it asks nothing of the database. */
  async traceparent(
    which: { readonly id: string } | { readonly stream: string; readonly target: string },
    db: Kysely<Database> = this.db,
  ): Promise<string | undefined> {
    if (!isTracing()) return undefined;
    return 'id' in which ? this.repository.traceparent(db, which.id) : this.repository.traceparentOf(db, which.stream, which.target);
  }

  /** The operations of a city that wait for a place at a worker, without those that have just been accepted. */
  async backlog(db: Kysely<Database>, city: string): Promise<Backlog> {
    return this.repository.backlog(db, city, JUST_ACCEPTED_MS);
  }

  /**
   * Gives a kind its handler. Families call it in `onModuleInit` of a provider of their worker module.
   *
   * @throws Error when the kind already has a handler.
   */
  registerHandler<I extends z.ZodType>(handler: OperationHandler<I>): void {
    this.registry.register(handler);
  }
}
