import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Operations, type ExternalOutcome } from '../../../platform/operations/operations.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import { MessageQueue } from '../messages/message-queue.service.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { createTarget, SessionCreate, type SessionCreateInput } from './sessions.operations.js';

/**
 * Ends the operations that made sessions, in the transactions that find out what became of them, whoever runs those. Every
 * process that changes sessions has it.
 */
@Injectable()
export class CreateEndings implements OnModuleInit {
  constructor(
    private readonly changes: SessionChangesService,
    private readonly queue: MessageQueue,
    private readonly operations: Operations,
  ) {}

  onModuleInit(): void {
    this.changes.onMoved((changes, before, after, message) => this.#moved(changes, before, after, message));
    this.queue.onSettled(async (changes, row, { source, request_id }, outcome) => {
      if (source !== 'create' || request_id === null) return;
      if (outcome === 'delivered') return this.#succeed(changes, row, request_id);
      const code = outcome.code === 'message_failed' ? 'message_delivery_failed' : outcome.code;
      await this.#end(changes, row, request_id, { ok: false, code, message: outcome.message });
    });
  }

  async #moved(changes: SessionChanges, before: SessionRow, after: SessionRow, why: string | undefined): Promise<void> {
    if (before.origin !== 'manual' || before.ready_at !== null) return;
    const verdict = verdictOf(after);
    if (verdict === undefined) return;
    const { stream } = changes.city;
    const operation = await this.operations.unfinished(changes.tx, createTarget(after.id), stream);
    if (operation === undefined) return;
    if (verdict !== true) {
      const message = why === undefined ? verdict : `${verdict}: ${why}`;
      return this.#end(changes, after, operation.id, { ok: false, code: 'create_failed', message });
    }
    // With a message it ends when that is delivered, and not when the session is ready.
    if (!(operation.input as SessionCreateInput).message) this.#succeed(changes, after, operation.id);
  }

  #succeed(changes: SessionChanges, { id }: SessionRow, requestId: string): void {
    changes.emitAtEnd({ id, make: (session) => this.#ended(changes, id, requestId, { ok: true, payload: { session } }) });
  }

  async #end(changes: SessionChanges, { id }: SessionRow, requestId: string, outcome: ExternalOutcome): Promise<void> {
    const ended = await this.#ended(changes, id, requestId, outcome);
    if (ended !== undefined) changes.emit(ended);
  }

  #ended(changes: SessionChanges, id: string, requestId: string, outcome: ExternalOutcome): Promise<NewEvent | undefined> {
    return this.operations.end(changes.tx, SessionCreate, requestId, { ...outcome, subject: id });
  }
}

/** What a state means for the request that made the session: made, or why not; undefined while it is on its way. */
function verdictOf({ id, state, reason, wake_request, failed_starts }: SessionRow): true | string | undefined {
  switch (state) {
    case 'active':
      return true;
    case 'start-pending':
    case 'creating':
    case 'draining':
      return undefined;
    case 'asleep':
      return wake_request === null ? `session ${id} was stopped before it was ready` : undefined;
    default:
      return (
        `session ${id} is ${state}${reason === null || reason === state ? '' : ` (${reason})`}` +
        (failed_starts > 1 ? ` after ${failed_starts} attempts` : '')
      );
  }
}
