import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import {
  SessionInteractionOpened,
  SessionInteractionResolved,
  type SessionInteractionPayload,
} from '../../../contract/events/sessions.events.js';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { event } from '../../../platform/event-log/event.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { InteractionRow, NewInteraction } from './interaction-row.js';
import { InteractionsRepository, type Answer } from './interactions.repository.js';
import { toPendingInteraction } from './pending-interaction.js';

export type { InteractionRow, NewInteraction } from './interaction-row.js';

/** The event's prompt is for a glance; the whole of it is in the interaction. */
const PROMPT_IN_EVENT = 500;
/** Characters of choices and metadata that an event carries: an agent may offer thousands. */
const OFFER_IN_EVENT = 8 * 1024;

/**
 * Questions that agents put to people. What changes one takes the next position of the session's log and tells it in the
 * same transaction; those of a lost process are cancelled and never answered by accident. Sessions are locked before.
 */
@Injectable()
export class Interactions implements OnModuleInit {
  constructor(
    private readonly repository: InteractionsRepository,
    private readonly sessions: SessionChangesService,
  ) {}

  onModuleInit(): void {
    this.sessions.onEnded(async (changes, row) => {
      await this.cancelAll(changes, row);
      await this.repository.forgetAnswers(changes.tx, row.pk);
    });
  }

  /** The process of the row's generation asks. What it asks already is not asked twice. */
  async open(changes: SessionChanges, row: SessionRow, question: NewInteraction): Promise<InteractionRow> {
    const before = await this.repository.openOne(changes.tx, row, question.requestId);
    if (before !== undefined) return before;
    const opened = await this.repository.insert(changes.tx, row, question);
    changes.emit(event(SessionInteractionOpened, { ...changes.facts(row), payload: told(row, opened) }));
    touch(changes, row);
    return opened;
  }

  /** Whether a question has been opened, whatever has become of it. */
  isKnown(tx: Tx, pk: number): Promise<boolean> {
    return this.repository.exists(tx, pk);
  }

  /** The runtime's question is gone without an answer of ours. False when it was settled before. */
  async clear(changes: SessionChanges, row: SessionRow, runtimeId: string): Promise<boolean> {
    const open = await this.repository.openOne(changes.tx, row, runtimeId);
    return open !== undefined && (await this.#cancel(changes, row, open.pk)) === 1;
  }

  /** Cancels every open question of a session: its turn has been interrupted, or its process is gone. Returns how many. */
  cancelAll(changes: SessionChanges, row: SessionRow): Promise<number> {
    return this.#cancel(changes, row);
  }

  /** Stores the answer that counts. Undefined when it is open no longer. */
  async answer(changes: SessionChanges, row: SessionRow, pk: number, answer: Answer): Promise<InteractionRow | undefined> {
    const answered = await this.repository.answer(changes.tx, row.pk, pk, answer);
    if (answered !== undefined) this.#resolved(changes, row, answered);
    return answered;
  }

  /** Open questions of the session's process, oldest first. */
  openOf(db: Kysely<Database>, row: Pick<SessionRow, 'pk' | 'generation'>): Promise<InteractionRow[]> {
    return this.repository.open(db, row);
  }

  /** The runtime has been given these answers, or would not have them: they are not passed on again. */
  async applied(tx: Tx, ...pks: readonly number[]): Promise<void> {
    await this.repository.applied(tx, pks);
  }

  async #cancel(changes: SessionChanges, row: SessionRow, pk?: number): Promise<number> {
    const cancelled = await this.repository.cancel(changes.tx, row.pk, pk);
    for (const one of cancelled) this.#resolved(changes, row, one);
    return cancelled.length;
  }

  #resolved(changes: SessionChanges, row: SessionRow, { request_id, kind, status, action }: InteractionRow): void {
    const payload = { session_id: row.id, request_id, kind, status, ...(action === null ? {} : { action }) };
    changes.emit(event(SessionInteractionResolved, { ...changes.facts(row), payload }));
    touch(changes, row);
  }
}

/** What can be answered without another look, as the list of the city has it. */
function told(row: SessionRow, opened: InteractionRow): z.infer<typeof SessionInteractionPayload> {
  const { kind, prompt = '', choices, metadata, opened_at, request_id } = toPendingInteraction(opened);
  const agent = row.agent_name ?? row.agent;
  return {
    session_id: row.id,
    request_id,
    kind,
    status: opened.status,
    // Half of a character is nothing that a database takes.
    prompt: prompt.slice(0, PROMPT_IN_EVENT).replace(/[\uD800-\uDBFF]$/, ''),
    ...(prompt.length > PROMPT_IN_EVENT ? { prompt_cut: true } : {}),
    ...(JSON.stringify([choices, metadata]).length > OFFER_IN_EVENT ? {} : { choices, metadata }),
    opened_at,
    title: row.title,
    template: row.template,
    ...(agent === null ? {} : { agent }),
    ...(row.alias === '' ? {} : { alias: row.alias }),
  };
}

/** Later changes of the row in this transaction have been announced already. */
function touch(changes: SessionChanges, row: SessionRow): void {
  if (!changes.touched.has(row.pk)) changes.touch(row);
}
