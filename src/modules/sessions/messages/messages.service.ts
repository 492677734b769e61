import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { AsyncAcceptedBody } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { OperationDefinition } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { EffectiveSuspension } from '../launch/effective-suspension.service.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { byName, requireItsName } from '../session-names/by-name.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { endsQueued, full, keptAsleep, QUEUE_LIMIT, unsupported } from './message-gate.js';
import { MessageQueueRepository } from './message-queue.repository.js';
import { MessageQueue, neverTakes } from './message-queue.service.js';
import type { MessageIntent } from './message-row.js';
import { SessionMessage, SessionSubmit, type MessageInput } from './messages.operations.js';
import type { SessionMessageInput, SessionSubmitInput } from './messages.schemas.js';

interface Sending {
  readonly source: 'message' | 'submit';
  readonly definition: OperationDefinition<typeof MessageInput>;
  readonly body: string;
  readonly intent: MessageIntent;
  readonly caller: Principal;
}

/** Accepts messages. What it accepts ends with exactly one terminal event; what cannot be delivered for a reason is refused. */
@Injectable()
export class MessagesService {
  constructor(
    private readonly db: Db,
    private readonly resolver: SessionResolver,
    private readonly suspension: EffectiveSuspension,
    private readonly sessions: SessionChangesService,
    private readonly queue: MessageQueue,
    private readonly repository: MessageQueueRepository,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Queues a message that never interrupts anything.
   *
   * @throws ProblemError session_not_found, ambiguous, pending_interaction, wrong_state, conflict.
   */
  send(city: CityScope, id: string, body: SessionMessageInput, key: string | undefined, caller: Principal): Promise<AsyncAcceptedBody> {
    const sending: Sending = { source: 'message', definition: SessionMessage, body: body.message, intent: 'default', caller };
    return this.#once(city, id, 'send-session-message', body, key, sending);
  }

  /** Queues a message with an intent. @throws ProblemError as `send`; unsupported for an intent that the runtime lacks. */
  submit(city: CityScope, id: string, body: SessionSubmitInput, key: string | undefined, caller: Principal): Promise<AsyncAcceptedBody> {
    const { message, intent = 'default' } = body;
    const sending: Sending = { source: 'submit', definition: SessionSubmit, body: message, intent, caller };
    return this.#once(city, id, 'submit-session', body, key, sending);
  }

  /** Under a key at most once: a repetition is answered before the session is even looked for. */
  async #once(
    city: CityScope,
    id: string,
    operation: string,
    body: object,
    key: string | undefined,
    sending: Sending,
  ): Promise<AsyncAcceptedBody> {
    const ref = idempotencyRef(sending.caller, city.name, operation, key, { id, ...body });
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return stored.body as AsyncAcceptedBody;
    return byName(() => this.#send(city, id, ref, sending));
  }

  async #send(city: CityScope, id: string, ref: IdempotencyRef | undefined, sending: Sending): Promise<AsyncAcceptedBody> {
    const { actor } = sending.caller;
    const found = await this.resolver.resolve(city, id, { closed: false, materialize: true, actor });
    const suspension = await this.suspension.blockerOf(city, found);
    return this.sessions.run(city, actor, async (changes) => {
      const answer = await this.idempotency.run(changes.tx, ref, async () => {
        const row = await changes.require(found.pk, id);
        requireItsName(row, id);
        return { status: 202, body: await this.#accept(changes, row, suspension, sending) };
      });
      return answer.body;
    });
  }

  async #accept(changes: SessionChanges, row: SessionRow, suspension: string | undefined, sending: Sending): Promise<AsyncAcceptedBody> {
    const { source, definition, body, intent, caller } = sending;
    const facts = await this.repository.facts(changes.tx, row, QUEUE_LIMIT);
    const kept = neverTakes(row) ?? keptAsleep(row, suspension, facts.now);
    if (kept !== undefined) throw problem('wrong_state', kept);
    if (facts.asks) throw problem('pending_interaction', 'session has a pending interaction');
    const lacking = unsupported(row, intent, facts);
    if (lacking !== undefined) throw problem('unsupported', lacking);
    const crowded = full(row, body, facts);
    if (crowded !== undefined) throw problem('conflict', crowded);

    const requestId = this.operations.newRequestId();
    const { message } = await this.queue.enqueue(changes, row, { body, source, intent, sender: caller.actor, requestId });
    const eventCursor = String(facts.head);
    const input = { session_id: row.id, message_id: message.id, intent };
    const { stream } = changes.city;
    await this.operations.accept(changes.tx, definition, { target: message.id, input, stream, eventCursor, subject: row.id, requestId });
    if (source === 'submit' && endsQueued(row, intent, facts)) {
      const payload = { session_id: row.id, queued: true, intent };
      const ended = await this.operations.end(changes.tx, SessionSubmit, requestId, { ok: true, payload });
      if (ended !== undefined) changes.emit(ended);
    }
    return { status: 'accepted', request_id: requestId, event_cursor: eventCursor, session_id: row.id };
  }
}
