import { Injectable } from '@nestjs/common';
import type { Counter, Gauge } from 'prom-client';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import { problem } from '../../contract/problems.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { Db, type Database } from '../database/database.js';
import { afterCommit, type Tx } from '../database/transactions.js';
import { Metrics } from '../health/metrics.js';
import { newId } from '../time/clock.js';
import { OperationDispatcher } from './dispatcher.js';
import type { OperationDefinition, OperationHandler } from './operation.js';
import { OperationRegistry } from './registry.js';
import { OperationsRepository, type UnfinishedOperation } from './operations.repository.js';

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

/**
 * The accepting half of the operations room. What is accepted in a committed transaction ends with exactly one
 * terminal event, whatever is killed: the row is the truth, the queue only makes it fast.
 */
@Injectable()
export class Operations {
  readonly #accepted: Counter<'kind'>;

  constructor(
    private readonly repository: OperationsRepository,
    private readonly dispatcher: OperationDispatcher,
    private readonly registry: OperationRegistry,
    db: Db,
    metrics: Metrics,
  ) {
    this.#accepted = metrics.counter({
      name: 'svc_operations_accepted_total',
      help: 'Operations accepted with a 202.',
      labelNames: ['kind'],
    });
    const unfinished: Gauge<'state'> = metrics.gauge({
      name: 'svc_operations',
      help: 'Unfinished operations in the database, by state.',
      labelNames: ['state'],
      collect: async (): Promise<void> => {
        const counts = await repository.countUnfinished(db).catch(() => undefined);
        if (counts === undefined) return unfinished.reset();
        for (const state of ['accepted', 'running']) unfinished.set({ state }, counts.get(state) ?? 0);
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
    const { kind, deadlineMs } = definition;
    const { target, input, eventCursor, stream = SUPERVISOR_STREAM, subject = target } = acceptance;
    if (!(await this.repository.insert(tx, { id, kind, target, subject, stream, input, eventCursor, deadlineMs }))) {
      throw problem('operation_in_progress', acceptance.conflict ?? `operation already in progress: ${target}`);
    }
    afterCommit(tx, () => {
      this.#accepted.inc({ kind });
      this.dispatcher.dispatch(kind, id);
    });
    return { requestId: id };
  }

  /** The unfinished operation of a target, if any. */
  async unfinished(db: Kysely<Database>, target: string, stream = SUPERVISOR_STREAM): Promise<UnfinishedOperation | undefined> {
    return this.repository.findUnfinished(db, stream, target);
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
