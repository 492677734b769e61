import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SessionMessageDropped } from '../../../contract/events/sessions.events.js';
import { problem } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import { Operations, type ExternalOutcome } from '../../../platform/operations/operations.js';
import { newId } from '../../../platform/time/clock.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { MessageQueueRepository, type Which } from './message-queue.repository.js';
import type { Dropped, EndedMessage, MessageRow, MessageSource, MessageStatus, NewMessage } from './message-row.js';
import { wakeForMessage } from './message-wake.js';
import { SessionMessage, SessionSubmit } from './messages.operations.js';

export type { Dropped, MessageRow, NewMessage } from './message-row.js';

/** What becomes of a message, for families that have sent one: told in the transaction in which it ends. */
export type SettledReaction = (
  changes: SessionChanges,
  row: SessionRow,
  message: EndedMessage,
  outcome: 'delivered' | Dropped,
) => Promise<void>;

/** Runs in the transaction in which messages that wait for one session, by their ids, are for another one. */
export type HandedOverReaction = (changes: SessionChanges, before: SessionRow, after: SessionRow, ids: readonly string[]) => Promise<void>;

/**
 * Messages that wait for their session, oldest first. Every method runs in a transaction that has locked the session's
 * row. A message is given to a process at most once: whatever is lost after that ends `unconfirmed`, never sent again.
 */
@Injectable()
export class MessageQueue implements OnModuleInit {
  readonly #reactions: SettledReaction[] = [];
  readonly #handedOver: HandedOverReaction[] = [];

  constructor(
    private readonly repository: MessageQueueRepository,
    private readonly operations: Operations,
    private readonly sessions: SessionChangesService,
  ) {}

  onModuleInit(): void {
    this.sessions.onEnded(async (changes, row, how) => {
      const lost = { status: 'unconfirmed', code: 'delivery_unconfirmed', message: LOST } as const;
      await this.#drop(changes, row, ['in_flight'], lost);
      const closed = { status: 'failed', code: 'session_closed', message: `session ${row.id} was closed before delivery` } as const;
      if (how === 'closed') await this.#drop(changes, row, ['queued'], closed);
    });
    // Nobody starts it any more unless somebody asks: who has sent something and waits for it is told now.
    this.sessions.onMoved(async (changes, _before, row, why) => {
      if (row.state !== 'failed-create') return;
      const reasons = [row.reason ?? undefined, why].filter((reason) => reason !== undefined);
      const message = [`session ${row.id} could not be started`, ...reasons].join(': ');
      await this.#drop(changes, row, ['queued'], { status: 'failed', code: 'start_failed', message }, { sources: ['message', 'submit'] });
    });
  }

  /** Adds what another family does when a message has been delivered or dropped: an operation to end, a wait to close. */
  onSettled(reaction: SettledReaction): void {
    this.#reactions.push(reaction);
  }

  /** Adds what another family does when messages go to the next session of a name: it knows to whom it has sent them. */
  onHandedOver(reaction: HandedOverReaction): void {
    this.#handedOver.push(reaction);
  }

  /**
   * Appends a message and has the session woken for it: a suspended one, too. One that is quarantined, on hold or waits
   * out a back-off gets it afterwards. Answers the row of the session, changed by the waking, and the message.
   *
   * @throws ProblemError wrong_state when the session is closed, is about to be, or cannot go on.
   */
  async enqueue(changes: SessionChanges, row: SessionRow, message: NewMessage): Promise<{ row: SessionRow; message: MessageRow }> {
    const never = neverTakes(row);
    if (never !== undefined) throw problem('wrong_state', never);
    const queued = await this.repository.insert(changes.tx, row, newId('msg'), message);
    const after = await wakeForMessage(changes, row, queued.created_at);
    changes.touch(after);
    return { row: after, message: queued };
  }

  /** What the session's process is to be given next; undefined while it is being given another. What is outdated is dropped. */
  async next(changes: SessionChanges, row: SessionRow): Promise<MessageRow | undefined> {
    if (!takes(row)) return undefined;
    for (;;) {
      const message = await this.repository.next(changes.tx, row.pk);
      if (message === undefined || message.epoch === null || message.epoch === row.epoch) return message;
      const stale = { status: 'failed', code: 'stale_conversation', message: 'it was meant for an earlier conversation' } as const;
      await this.#drop(changes, row, ['queued'], stale, { pk: message.pk });
    }
  }

  /**
   * Its conversation has begun anew because it was started, which nobody has asked for: what a wait has queued for the one before goes on
   * with this one, or the note that has woken a session would be outdated by that.
   */
  async goOn(changes: SessionChanges, row: SessionRow, from: number): Promise<void> {
    await this.repository.goOn(changes.tx, row, from);
  }

  /** Whether something waits that is as good for another session of the same name. */
  async hasForNext(changes: SessionChanges, row: SessionRow): Promise<boolean> {
    return this.repository.hasSent(changes.tx, row.pk, SENT);
  }

  /** What was sent to a session that is about to end, and waits, is for the one that was just made in its place: in its order, with its operations. */
  async handOver(changes: SessionChanges, before: SessionRow, after: SessionRow): Promise<void> {
    const ids = await this.repository.handOver(changes.tx, before.pk, after.pk, SENT);
    if (ids.length > 0) for (const react of this.#handedOver) await react(changes, before, after, ids);
    changes.touch(after);
  }

  /** Right before the prompt, in a transaction of its own. Undefined when it is queued no longer: then it is not to be sent. */
  async inFlight(changes: SessionChanges, row: SessionRow, pk: number): Promise<MessageRow | undefined> {
    return takes(row) ? this.repository.take(changes.tx, row, pk) : undefined;
  }

  /** The process has taken it up. False when it was settled meanwhile, or given to another process. */
  async delivered(changes: SessionChanges, row: SessionRow, pk: number): Promise<boolean> {
    const message = await this.repository.deliver(changes.tx, row, pk);
    if (message === undefined) return false;
    await this.#settle(changes, row, message, 'delivered');
    return true;
  }

  /** The process has refused it before it began. `code` is the operation's; by the kind of operation unless said. */
  async failed(changes: SessionChanges, row: SessionRow, pk: number, failure: { code?: string; message: string }): Promise<boolean> {
    const { code = 'message_failed', message } = failure;
    return (await this.#drop(changes, row, ['in_flight'], { status: 'failed', code, message }, { pk })).length === 1;
  }

  /** Takes a queued message back; false when it is queued no longer. */
  async cancel(changes: SessionChanges, row: SessionRow, pk: number): Promise<boolean> {
    const cancelled = { status: 'cancelled', code: 'cancelled', message: `cancelled by ${changes.actor}` } as const;
    return (await this.#drop(changes, row, ['queued'], cancelled, { pk })).length === 1;
  }

  /** Drops queued messages whose time is over, so many at once. Returns how many. */
  async expire(changes: SessionChanges, row: SessionRow): Promise<number> {
    const expired = { status: 'expired', code: 'expired', message: 'it could not be delivered in its time' } as const;
    return (await this.#drop(changes, row, ['queued'], expired, { overdue: true, first: EXPIRED_AT_ONCE })).length;
  }

  async #drop(
    changes: SessionChanges,
    row: SessionRow,
    from: readonly MessageStatus[],
    to: Dropped,
    only: Which = {},
  ): Promise<readonly EndedMessage[]> {
    const rows = await this.repository.drop(changes.tx, row.pk, from, to, only);
    for (const message of rows) await this.#settle(changes, row, message, to);
    return rows;
  }

  /** Ends the message's operation and tells what became of it. The row has ended already, once. */
  async #settle(changes: SessionChanges, row: SessionRow, message: EndedMessage, outcome: 'delivered' | Dropped): Promise<void> {
    if (outcome !== 'delivered') {
      const payload = { session_id: row.id, message_id: message.id, status: outcome.status, intent: message.intent, reason: outcome.code };
      changes.emit(event(SessionMessageDropped, { ...changes.facts(row), message: outcome.message, payload }));
    }
    await this.#end(changes, row, message, outcome);
    for (const react of this.#reactions) await react(changes, row, message, outcome);
    if (!changes.touched.has(row.pk)) changes.touch(row);
  }

  async #end(changes: SessionChanges, row: SessionRow, message: EndedMessage, outcome: 'delivered' | Dropped): Promise<void> {
    const { request_id: requestId, source, intent } = message;
    if (requestId === null) return;
    const session_id = row.id;
    // The session that it was handed over to where that is another one than it was sent to.
    const end = (definition: typeof SessionMessage | typeof SessionSubmit, payload: Record<string, unknown>, failed: string) =>
      this.operations.end(changes.tx, definition, requestId, { ...outcomeOf(outcome, payload, failed), subject: session_id });
    const ended =
      source === 'message'
        ? await end(SessionMessage, { session_id }, 'message_failed')
        : source === 'submit'
          ? await end(SessionSubmit, { session_id, queued: false, intent }, 'submit_failed')
          : undefined;
    if (ended !== undefined) changes.emit(ended);
  }
}

const EXPIRED_AT_ONCE = 100;
/** Sources of what is for whoever bears a name: people and agents have sent it to that, or it comes from conversations that the name has. Waits and nudges are a session's own. */
const SENT = ['message', 'submit', 'external'] as const satisfies readonly MessageSource[];

/** A process is there, and nobody wants it to end. */
function takes({ state, live, stop_request }: SessionRow): boolean {
  return live && state === 'active' && stop_request === null;
}

const LOST = 'the process was lost before it confirmed the message; it is not sent again';

/** Why a session will never take a message again; undefined where it may. */
export function neverTakes(row: SessionRow): string | undefined {
  if (row.state === 'closed') return `session ${row.id} is closed`;
  if (row.stop_request === 'close') return `session ${row.id} is being closed`;
  if (row.state === 'archived' && !row.continuity_eligible) return `session ${row.id} is archived and cannot go on`;
  return undefined;
}

function outcomeOf(outcome: 'delivered' | Dropped, payload: Record<string, unknown>, failed: string): ExternalOutcome {
  if (outcome === 'delivered') return { ok: true, payload };
  const { code, message } = outcome;
  return { ok: false, code: code === 'message_failed' ? failed : code, message };
}
