import { Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { OperationDefinition } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { MessageQueueRepository, type OverdueQueue } from './message-queue.repository.js';
import { MessageQueue } from './message-queue.service.js';
import { SessionMessage, SessionSubmit, type MessageInput } from './messages.operations.js';

const TICK_MS = 1_000;
const BATCH = 100;

/**
 * Ends what the queue has kept for too long: queued messages past their time, and operations past their deadline, whose
 * messages may still be delivered. Any number of workers may do so at once.
 */
@Injectable()
export class MessagesReconciler implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly db: Db,
    private readonly operations: Operations,
    private readonly sessions: SessionChangesService,
    private readonly queue: MessageQueue,
    private readonly repository: MessageQueueRepository,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onModuleInit(): void {
    for (const definition of [SessionMessage, SessionSubmit] as readonly OperationDefinition<typeof MessageInput>[]) {
      this.operations.registerHandler({
        definition,
        run: () => Promise.reject(new Error(`${definition.kind} is not run by a worker`)),
        lock: (tx, messageId) => this.repository.lockSessionOf(tx, messageId),
      });
    }
  }

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'expired messages', everyMs: TICK_MS, due: this.repository.isOverdue, work: (signal) => this.sweep(signal) });
  }

  /** Drops what is overdue, session by session; one that fails does not hold up the others. Returns how many were dropped. */
  async sweep(signal?: AbortSignal): Promise<number> {
    const alone = { failed: 'overdue messages could not be dropped', about: ({ stream: city }: OverdueQueue) => ({ city }), signal };
    return eachAlone(await this.repository.overdue(this.db, BATCH), this.log, alone, ({ sessionPk, streamId, stream }) =>
      this.sessions.runInAnyState({ name: stream, stream, streamId }, ACTOR, async (changes) => {
        const row = await changes.lock(sessionPk);
        return row === undefined ? 0 : this.queue.expire(changes, row);
      }),
    );
  }
}
