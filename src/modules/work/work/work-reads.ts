import type { SessionCaller } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { eventsIn, type EventDraft } from '../../../platform/event-log/event-draft.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { Account } from './account.js';
import type { Tells, WrittenAhead } from './ahead.js';
import { beadEvent, factsOf, type BeadFacts } from './bead-event.js';
import type { BeadRecord, Edge, LeftOut, ReservedBead } from './bead-record.js';
import type { Held, HeldBehind } from './held.repository.js';
import type { WorkLimits } from './work-limits.js';
import type { WorkRepository } from './work.repository.js';

/** Why a part of a transaction came to nothing, and whether that has ended the transaction. */
interface Failure {
  readonly error: unknown;
  readonly isOver: boolean;
}

/** What a transaction on a city's work sees of that, what it has changed so far, and the events of it. */
export class WorkReads {
  protected readonly account = new Account();
  #clock: Promise<Date> | undefined;

  constructor(
    readonly tx: Tx,
    readonly city: CityScope,
    /** The actor of every event of this transaction. */
    readonly actor: string,
    protected readonly repository: WorkRepository,
    protected readonly limits: WorkLimits,
    protected readonly written: WrittenAhead,
    /** The session that asks for it, where what closes by itself then is asked about. */
    readonly session?: SessionCaller,
  ) {}

  /** Whether it has made the bead, or found it. */
  has(id: string): boolean {
    return this.account.get(id) !== undefined;
  }

  /** The last event of the city before those of this transaction. */
  head(): Promise<number> {
    return this.repository.head(this.tx, this.city.streamId);
  }

  async find(id: string): Promise<BeadRecord | undefined> {
    if (!this.account.knows(id)) await this.findAll([id]);
    return this.account.get(id);
  }

  /** Those of `ids` that exist, in the given order, each once. */
  async findAll(ids: readonly string[]): Promise<BeadRecord[]> {
    const unknown = [...new Set(ids)].filter((id) => !this.account.knows(id) && !this.written.hides(id));
    if (unknown.length > 0) {
      const rows = new Map((await this.repository.find(this.tx, this.city.streamId, unknown)).map((row) => [row.id, row]));
      for (const id of unknown) this.account.read(id, rows.get(id));
    }
    return [...new Set(ids)].flatMap((id) => this.account.get(id) ?? []);
  }

  /** @throws ProblemError bead_not_found */
  async require(id: string): Promise<BeadRecord> {
    const bead = await this.find(id);
    if (bead === undefined) throw problem('bead_not_found', `bead ${id} not found`);
    return bead;
  }

  /** Whether the city has the rig now: beads of one that has gone stay where they are. */
  hasRig(rig: string): Promise<boolean> {
    return this.repository.hasRig(this.tx, this.city.streamId, rig);
  }

  /** The database's clock, of which there is one, whatever the processes' own say; read once a transaction. */
  now(): Promise<Date> {
    return (this.#clock ??= this.repository.now(this.tx));
  }

  /** Edges from (`down`: what it depends on) or to (`up`: what depends on it) a bead: all of them, or with `limit` so many. */
  edges(id: string, direction: 'down' | 'up', limit?: number): Promise<Edge[]> {
    return this.repository.edges.of(this.tx, this.city.streamId, id, direction, limit);
  }

  /** Whether somebody has a lease of a bead that has not ended. A heartbeat that is under way is waited for, and one that comes later finds what becomes of the bead. */
  isLeased(id: string): Promise<boolean> {
    return this.repository.held.lockLease(this.tx, this.city.streamId, id);
  }

  /** What others than `names` have under way and one of `ids`, which are closed, would block. */
  heldBehind(ids: readonly string[], names: readonly string[]): Promise<HeldBehind | undefined> {
    return this.repository.held.heldBehind(this.tx, this.city.streamId, ids, names);
  }

  /** The steps of `run`, a graph that goes on, that were skipped or have failed. */
  leftOut(run: string): Promise<LeftOut[]> {
    return this.repository.edges.leftOut(this.tx, this.city.streamId, run);
  }

  /** What the step `id` of `run` is a part of, and that has ended: what comes of the step would count no more. */
  endedAround(run: string, id: string): Promise<string | undefined> {
    return this.repository.edges.endedAround(this.tx, this.city.streamId, run, id);
  }

  /** What others than `names` have under way, or a run waits at, that ends when `id` is closed; what its run has yet to pass too, where that `passes` then. */
  heldWithin(id: string, names: readonly string[], passes: boolean): Promise<Held | undefined> {
    return this.repository.held.heldWithin(this.tx, this.city.streamId, id, names, passes);
  }

  /** Those of these beads that are steps which their runs, which go on, decide themselves. */
  decidedAmong(ids: readonly string[]): Promise<string[]> {
    return this.repository.held.decidedAmong(this.tx, this.city.streamId, ids);
  }

  /** Whether a run has not ended. */
  goesOn(run: string): Promise<boolean> {
    return this.repository.held.goesOn(this.tx, this.city.streamId, run);
  }

  /** Whether a run that was launched for the bead goes on. */
  hasLiveRun(id: string): Promise<boolean> {
    return this.repository.held.hasLiveRun(this.tx, this.city.streamId, id);
  }

  /**
   * Does a part of the transaction that may be refused, or fail: nothing of it is written then, and the rest goes on as if it had not been tried. A part may
   * have others in it.
   */
  async attempt<T>(part: () => Promise<T>): Promise<T> {
    const tried = await this.#try(part);
    if (tried.failed === undefined) return tried.value;
    throw tried.failed.error;
  }

  /** Like `attempt`, but returns false when the part fails. @throws the error of the part when that has ended the whole transaction */
  async succeeds(part: () => Promise<unknown>): Promise<boolean> {
    const { failed } = await this.#try(part);
    if (failed?.isOver === true) throw failed.error;
    return failed === undefined;
  }

  async #try<T>(part: () => Promise<T>): Promise<{ value: T; failed?: undefined } | { failed: Failure }> {
    const { tx, repository } = this;
    await repository.mark(tx);
    const tried = this.account.attempt();
    try {
      const value = await part();
      tried.keep();
      await repository.unmark(tx);
      return { value };
    } catch (error) {
      tried.giveUp();
      // Where there is no going back the transaction is over, and what has ended it is the error.
      const back = repository.backToMark(tx).then(() => repository.unmark(tx));
      const isOver = await back.then(
        () => false,
        () => true,
      );
      return { failed: { error, isOver } };
    }
  }

  /** Adds an event of another kind after everything that has changed so far. */
  emit(...events: readonly NewEvent[]): void {
    this.account.emit(events);
  }

  /** As `emit`, of what new beads tell together: it may have been written down ahead. */
  emitOf(beads: readonly ReservedBead[], made: readonly BeadRecord[], tells: Tells): void {
    const told = this.written.toldOf(beads);
    this.account.emit(told === undefined ? tells(made, (bead) => this.facts(bead)) : [told]);
  }

  /** The events of this transaction: one for each bead that is not what it was. */
  events(): NewEvent[] {
    return eventsIn(this.entries());
  }

  /** As `events`, with drafts as they are. */
  entries(): (NewEvent | EventDraft)[] {
    return this.account.events((before, after) => beadEvent(before, after, (bead) => this.facts(bead)));
  }

  /** The envelope of an event about a bead. */
  facts(bead: BeadRecord): BeadFacts {
    return factsOf(bead, this.city.stream, this.actor);
  }
}
