import { problem } from '../../../contract/problems.js';
import { SessionCreated } from '../../../contract/events/sessions.events.js';
import type { SessionResponse } from '../../../contract/sessions.schemas.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { Work } from '../../work/work/work.js';
import { moveEvent, type EventFacts } from './move-events.js';
import type { NameKind, NewSession, SessionPatch, SessionRow } from './session-row.js';
import { moveOf, type CloseCode, type SessionCommand } from './session-states.js';
import type { SessionStore } from './session-store.repository.js';

/** An event that is made at the end of the transaction, of what the session is then; undefined for none. */
export interface EndingEvent {
  readonly id: string;
  readonly make: (session: SessionResponse) => Promise<NewEvent | undefined>;
}

/** The city of a session, as writers need it. */
export interface SessionCity {
  readonly name: string;
  /** The name of its event stream. */
  readonly stream: string;
  readonly streamId: number;
}

export interface Moving {
  /** Stored as the session's reason and told by the event; null takes an older one away. */
  readonly reason?: string | null;
  readonly set?: SessionPatch;
  /** The event's message, for people. */
  readonly message?: string;
  /** Instead of the kind that the command has. */
  readonly event?: (facts: EventFacts) => NewEvent;
}

/**
 * Runs in the transaction in which a session lost its process (`stopped`) or ended (`closed`), right after it: what was in
 * the air is settled.
 */
export type EndReaction = (changes: SessionChanges, row: SessionRow, how: 'stopped' | 'closed') => Promise<void>;

/**
 * Runs in the transaction that moved a session, after the event of the move and before those who settle an end. `message` is the
 * event's: why it was moved, for people.
 */
export type MoveReaction = (changes: SessionChanges, before: SessionRow, after: SessionRow, message?: string) => Promise<void>;

/** Runs in the transaction that made a session in the place of another that had its name and cannot go on. */
export type ReplaceReaction = (changes: SessionChanges, before: SessionRow, after: SessionRow) => Promise<void>;

/** Whether a session has something that goes to the next one of its name. */
export type ForNextReaction = (changes: SessionChanges, row: SessionRow) => Promise<boolean>;

/** Locks what several sessions have that are about to end. */
export type EndingReaction = (changes: SessionChanges, pks: readonly number[]) => Promise<void>;

export interface SessionReactions {
  readonly ending: readonly EndingReaction[];
  readonly moved: readonly MoveReaction[];
  readonly ended: readonly EndReaction[];
  readonly replaced: readonly ReplaceReaction[];
  readonly forNext: readonly ForNextReaction[];
}

/**
 * The session part of one transaction. Rows are locked before they are changed, a change of state is one guarded
 * statement, and every change has its event in `events()`, which the transaction appends last.
 */
export class SessionChanges {
  readonly #events: (NewEvent | EndingEvent)[] = [];
  /** Sessions whose log or inbox has something new, by pk; told to everybody after the commit. */
  readonly touched = new Map<number, SessionRow>();
  /** Sessions whose columns were changed without a move, by pk: as they were, and as they are. */
  readonly patched = new Map<number, { readonly before: SessionRow; readonly after: SessionRow }>();

  constructor(
    readonly tx: Tx,
    readonly city: SessionCity,
    readonly actor: string,
    private readonly store: SessionStore,
    private readonly reactions: SessionReactions,
    /** The city's work, where the transaction holds it. */
    readonly work?: Work,
  ) {}

  /** By the clock of the database, as all times that a session waits for. */
  async now(): Promise<Date> {
    return this.store.now(this.tx);
  }

  /** The session, locked until the commit. Undefined when it is not there, or not of this city. */
  async lock(pk: number): Promise<SessionRow | undefined> {
    return this.store.lock(this.tx, this.city.streamId, pk);
  }

  /** As `lock`, for whoever has something already that comes after sessions; undefined also where somebody else has it. */
  async tryLock(pk: number): Promise<SessionRow | undefined> {
    return this.store.tryLock(this.tx, this.city.streamId, pk);
  }

  /**
   * As `lock`, for several of which each may be changed in ways that lock more: all of them, before the first is. Of those that end, or give
   * up what they have, also what they have of other rooms is locked, in the order of those.
   */
  async lockAll(pks: readonly number[], ending: readonly number[]): Promise<void> {
    if (pks.length > 0) await this.store.lockAll(this.tx, this.city.streamId, pks);
    if (ending.length > 0) for (const react of this.reactions.ending) await react(this, ending);
  }

  /** Nobody else gives a session of the city a name until the commit. What else of sessions is locked is locked before. */
  async lockNames(): Promise<void> {
    await this.store.lockNames(this.tx, this.city.streamId);
  }

  /** @throws ProblemError session_not_found */
  async require(pk: number, name: string): Promise<SessionRow> {
    const row = await this.lock(pk);
    if (row === undefined) throw problem('session_not_found', `session ${name} not found`);
    return row;
  }

  /**
   * A new session in `start-pending`, with its names.
   *
   * @throws ProblemError conflict when one of its names is taken.
   */
  async create(session: NewSession): Promise<SessionRow> {
    const row = await this.store.insert(this.tx, this.city.streamId, session);
    this.#touch(row);
    const payload = { session_id: row.id, from: '', to: row.state, generation: row.generation };
    this.emit(event(SessionCreated, { ...this.facts(row), payload }));
    return row;
  }

  /**
   * Moves a locked session by a command of the state table.
   *
   * @throws ProblemError illegal_transition where the table has no such move.
   */
  async move(row: SessionRow, command: SessionCommand, { reason, set = {}, message, event: kind }: Moving = {}): Promise<SessionRow> {
    const to = moveOf(row.state, command);
    if (to === undefined) throw illegal(row, command);
    const patch = reason === undefined ? set : { ...set, reason };
    const after = await this.store.update(this.tx, row, patch, to);
    if (after === undefined) throw illegal(row, command);
    this.#touch(after);
    const facts = { ...this.facts(after), ...(message === undefined ? {} : { message }) };
    this.emit(kind?.(facts) ?? moveEvent(command, facts, row, after));
    for (const react of this.reactions.moved) await react(this, row, after, message);
    await this.#ended(row, after);
    return after;
  }

  /**
   * Ends a session whose process, if it had one, is confirmed dead: its names are free, nothing of it is awaited any more.
   * Closing a closed session changes nothing.
   */
  async close(row: SessionRow, code: CloseCode, { set = {}, ...moving }: Moving = {}): Promise<SessionRow> {
    if (row.state === 'closed') return row;
    const cleared = {
      runner_id: null,
      live: false,
      wake_request: null,
      stop_request: null,
      stop_deadline: null,
      instance_token: null,
    } as const;
    const after = await this.move(row, 'close', {
      ...moving,
      reason: moving.reason ?? code,
      set: { ...set, ...cleared, token_hash: null, close_code: code },
    });
    await this.store.releaseNames(this.tx, after);
    return after;
  }

  /** One has been made under the name of another, which keeps nothing that the name stands for. */
  async replace(before: SessionRow, after: SessionRow): Promise<void> {
    for (const react of this.reactions.replaced) await react(this, before, after);
  }

  /** Whether one that is about to end has something that the next one of its name is to have, whether that runs or not. */
  async hasForNext(row: SessionRow): Promise<boolean> {
    for (const react of this.reactions.forNext) if (await react(this, row)) return true;
    return false;
  }

  /** Gives a session another name of a kind. @throws ProblemError conflict when somebody else has it. */
  async takeName(row: SessionRow, name: string, kind: NameKind): Promise<void> {
    await this.store.takeName(this.tx, row, name, kind);
  }

  async releaseName(row: SessionRow, name: string): Promise<void> {
    await this.store.releaseName(this.tx, row, name);
  }

  /** Changes columns and not the state. What one sees of that has an event, also where the caller emits none. */
  async patch(row: SessionRow, set: SessionPatch): Promise<SessionRow> {
    const after = (await this.store.update(this.tx, row, set))!;
    this.#touch(after);
    this.patched.set(row.pk, { before: this.patched.get(row.pk)?.before ?? row, after });
    await this.#ended(row, after);
    return after;
  }

  emit(...events: readonly NewEvent[]): void {
    this.#events.push(...events);
  }

  /** As `emit`, for an event that has the session as the transaction leaves it. What `make` locks comes after beads and before events. */
  emitAtEnd(event: EndingEvent): void {
    this.#events.push(event);
  }

  /** Says that the session's runner or its readers have something to look at, without changing its row. */
  touch(row: SessionRow): void {
    this.#touch(row);
  }

  /** In the order in which they are appended. */
  events(): readonly (NewEvent | EndingEvent)[] {
    return this.#events;
  }

  /** The envelope of an event about a session. */
  facts({ id }: Pick<SessionRow, 'id'>): EventFacts {
    return { stream: this.city.stream, actor: this.actor, subject: id, session_id: id };
  }

  async #ended(before: SessionRow, after: SessionRow): Promise<void> {
    if (before.runner_id !== null && after.runner_id === null)
      for (const react of this.reactions.ended) await react(this, after, 'stopped');
    if (before.state !== 'closed' && after.state === 'closed') for (const react of this.reactions.ended) await react(this, after, 'closed');
  }

  #touch(row: SessionRow): void {
    this.touched.set(row.pk, row);
  }
}

function illegal(row: SessionRow, command: SessionCommand): Error {
  return problem('illegal_transition', `illegal transition: state "${row.state}" does not accept command "${command}"`);
}
