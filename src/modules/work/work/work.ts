import type { SessionCaller } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { violatedConstraint } from '../../../platform/database/pg-errors.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { WrittenAhead } from './ahead.js';
import type { BeadChange, BeadRecord, Edge } from './bead-record.js';
import { diffOf, mergeOf, type Diff } from './diff.js';
import type { WorkLimits } from './work-limits.js';
import { WorkRemovals } from './work-removals.js';
import type { WorkRepository } from './work.repository.js';

/** Runs in the transaction in which a bead became closed, right after it. */
export type ClosedReaction = (work: Work, closed: BeadRecord) => Promise<void>;

/**
 * Runs for beads that depend on one that is closed, in whichever way: convoys close themselves, waits become ready. In the transaction in
 * which it became closed for all of them, or where they are many in a step of its fan-out for some.
 */
export type DependentsReaction = (work: Work, closed: BeadRecord, dependents: readonly Edge[]) => Promise<void>;

/** Runs in the transaction in which a bead was removed, right after it, with the edges that led to it. */
export type RemovedReaction = (work: Work, removed: BeadRecord, dependents: readonly Edge[]) => Promise<void>;

/** Runs in the transaction in which a bead was changed, right after it and after what follows from its closing. */
export type ChangedReaction = (work: Work, before: BeadRecord, after: BeadRecord) => Promise<void>;

/** Runs in the transaction in which a bead may have lost what it waits for: an edge of it is gone, or is of another type, or it has one more. */
export type FreedReaction = (work: Work, freed: BeadRecord) => Promise<void>;

export interface Reactions {
  /** What is the bead's own, before its dependents. */
  readonly closing: readonly ClosedReaction[];
  readonly dependents: readonly DependentsReaction[];
  readonly closed: readonly ClosedReaction[];
  readonly changed: readonly ChangedReaction[];
  readonly freed: readonly FreedReaction[];
  /** For those that have lost the edge to a bead that is removed, now or when they all have. */
  readonly bereft: readonly RemovedReaction[];
  readonly removed: readonly RemovedReaction[];
}

/** A bead that is to be closed, and what is said of it then. */
export interface Closing {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A convoy that closes takes as long as so many dependents that only count. */
const CONVOY = 10;

/**
 * One transaction on a city's work, opened by `WorkService.run`: nobody else writes the city's work meanwhile, so what is
 * read here still holds when it is written. It keeps account of every bead it changes and makes exactly one event for
 * each whose row has really changed, in the order in which they first changed.
 */
export class Work extends WorkRemovals {
  #completed = 0;

  constructor(
    tx: Tx,
    city: CityScope,
    actor: string,
    repository: WorkRepository,
    private readonly reactions: Reactions,
    limits: WorkLimits,
    written: WrittenAhead,
    session?: SessionCaller,
  ) {
    super(tx, city, actor, repository, limits, written, session);
  }

  /**
   * Closes those of many beads that are not closed, in few statements. Answers how many. What follows from it happens for those
   * that somebody outside looks at; `metadata` comes to all of them.
   */
  async closeAll(ids: readonly string[], metadata: Readonly<Record<string, string>>): Promise<number> {
    const before = new Map((await this.findAll(ids)).filter((bead) => bead.status !== 'closed').map((bead) => [bead.id, bead]));
    const open = [...before.keys()];
    if (open.length === 0) return 0;
    const { tx, repository } = this;
    const { streamId } = this.city;
    const closed = new Map((await repository.closeAll(tx, streamId, open, metadata, this.limits.few)).map((one) => [one.row.id, one]));
    for (const id of open) this.account.changed(before.get(id), closed.get(id)?.row);
    const few = open.filter((id) => closed.get(id)?.many === false);
    const held = new Map((await repository.edges.releasable(tx, streamId, few)).map((row) => [row.id, row]));
    for (const row of await repository.edges.releaseAll(tx, streamId, few)) this.account.changed(held.get(row.id), row);
    for (const id of open) if (closed.get(id)?.many === true) await repository.edges.fanOut(tx, streamId, id);
    for (const id of await repository.edges.watched(tx, streamId, open)) await this.#follow(id, closed.get(id)?.many === true);
    return open.length;
  }

  /**
   * As `update` of each of many beads to closed, one after the other: with the same events, in the same order. Those whose end their dependents only count end
   * together, in few statements; what reacts to one of them finds all of them closed.
   */
  async closeEach(closings: readonly Closing[]): Promise<void> {
    const ids = (await this.findAll(closings.map(({ id }) => id))).map(({ id }) => id);
    const behind =
      ids.length > 1
        ? await this.repository.counted(this.tx, this.city.streamId, ids, this.limits.few)
        : new Map<string, readonly string[]>();
    const together = new Map<string, Closing>();
    const close = async (): Promise<void> => {
      await this.#closeTogether([...together.values()], behind);
      together.clear();
    };
    for (const closing of closings) {
      const { id, metadata } = closing;
      if (behind.has(id) && !together.has(id) && this.account.get(id)?.status !== 'closed' && !this.#isLate()) {
        together.set(id, closing);
        continue;
      }
      await close();
      await this.update(id, { status: 'closed', metadata });
    }
    await close();
  }

  /**
   * Opens those of many steps of runs that are closed, in few statements. Each counts at once what it waits for, others of them too: it is offered to nobody, and begins
   * as no gate, before that is done.
   */
  async openAll(ids: readonly string[]): Promise<void> {
    const closed = (await this.findAll(ids)).filter((bead) => bead.status === 'closed');
    if (closed.length === 0) return;
    const { tx, repository, limits } = this;
    const { streamId } = this.city;
    const all = closed.map(({ id }) => id);
    // What one of them has no more, none of them has.
    const unset = [...new Set(closed.flatMap((bead) => diffOf(bead, { status: 'open' })?.metadata.unset ?? []))];
    const opened = new Map((await repository.openAll(tx, streamId, all, unset, limits.few)).map((one) => [one.row.id, one]));
    for (const bead of closed) this.account.changed(bead, opened.get(bead.id)?.row);
    const [many, few] = [all.filter((id) => opened.get(id)?.many === true), all.filter((id) => opened.get(id)?.many === false)];
    this.counted(await repository.edges.recountWrong(tx, streamId, await repository.edges.waiting(tx, streamId, few)));
    for (const id of many) await repository.edges.fanOut(tx, streamId, id);
    for (const bead of closed) for (const react of this.reactions.changed) await react(this, bead, this.account.get(bead.id)!);
  }

  /** Has many beads get a label, or lose it, in few statements. */
  async relabelAll(ids: readonly string[], label: string, has: boolean): Promise<void> {
    const before = new Map((await this.findAll(ids)).map((bead) => [bead.id, bead]));
    const changed = await this.repository.relabelAll(this.tx, this.city.streamId, [...before.keys()], label, has);
    for (const row of changed) this.account.changed(before.get(row.id), row);
    for (const row of changed) for (const react of this.reactions.changed) await react(this, before.get(row.id)!, row);
  }

  /**
   * Changes a bead; a change that alters nothing writes nothing. A status that becomes `closed` does all that closing does.
   *
   * @throws ProblemError bead_not_found; wrong_state for a move from closed to in_progress, and for reopening a sling
   * convoy whose bead is followed by another one by now.
   */
  async update(id: string, change: BeadChange): Promise<BeadRecord> {
    await this.tellParents([await this.require(id)], change);
    const before = await this.require(id);
    if (before.status === 'closed' && change.status === 'in_progress')
      throw problem('wrong_state', `bead ${id} is closed; reopen it first`);
    const diff = diffOf(before, change);
    if (diff === undefined) return before;
    const { tx, repository, limits } = this;
    const { streamId } = this.city;
    const { row, many } = await repository
      .update(tx, streamId, id, diff.columns, diff.metadata, diff, limits.few)
      .catch((error: unknown) => {
        if (violatedConstraint(error) !== 'beads_sling_source_key') throw error;
        throw problem('wrong_state', `another open convoy follows ${before.sling_source} meanwhile`, { cause: error });
      });
    this.account.changed(before, row);
    if ((before.status === 'closed') !== (row.status === 'closed')) {
      const later = row.status === 'closed' && (await this.#goesOnLater(row));
      if (many || later) await repository.edges.fanOut(tx, streamId, id);
      else await this.shift(id, row.status === 'closed' ? -1 : 1);
      if (row.status === 'closed') await this.#follow(id, many, later);
    }
    for (const react of this.reactions.changed) await react(this, before, row);
    return this.account.get(id)!;
  }

  /** As `update` of each of many beads, in few statements where it changes the status of none. Answers them in the given order. */
  async updateAll(ids: readonly string[], change: BeadChange): Promise<BeadRecord[]> {
    const same = new Map<string, { readonly diff: Diff; readonly beads: BeadRecord[] }>();
    const alone: string[] = [];
    await this.tellParents(await this.findAll(ids), change);
    for (const bead of await this.findAll(ids)) {
      const diff = diffOf(bead, change);
      if (diff?.columns.status !== undefined) alone.push(bead.id);
      else if (diff !== undefined) {
        const key = JSON.stringify(diff);
        const known = same.get(key);
        if (known === undefined) same.set(key, { diff, beads: [bead] });
        else known.beads.push(bead);
      }
    }
    for (const { diff, beads } of same.values()) {
      const all = beads.map(({ id }) => id);
      const rows = await this.repository.updateAll(this.tx, this.city.streamId, all, diff.columns, diff.metadata, diff);
      const after = new Map(rows.map((row) => [row.id, row]));
      for (const bead of beads) this.account.changed(bead, after.get(bead.id));
      for (const bead of beads) for (const react of this.reactions.changed) await react(this, bead, after.get(bead.id)!);
    }
    for (const id of alone) await this.update(id, change);
    return this.findAll(ids);
  }

  /** Closes a bead that is not closed; with a reason it is kept as `close_reason`. */
  async close(id: string, reason?: string): Promise<BeadRecord> {
    const before = await this.require(id);
    if (before.status === 'closed') return before;
    return this.update(id, { status: 'closed', ...(reason === undefined ? {} : { metadata: { close_reason: reason } }) });
  }

  /** Closes what is done by what was made for it: a step of a graph has passed then, unless it says how it ends itself. */
  async complete(id: string, reason: string): Promise<BeadRecord> {
    const { status, run_id: run, metadata } = await this.require(id);
    const isSilent =
      status !== 'closed' && run !== id && metadata['gc.formula_contract'] === 'graph.v2' && metadata['gc.outcome'] === undefined;
    if (!isSilent) return this.close(id, reason);
    return this.update(id, { status: 'closed', metadata: { 'gc.outcome': 'pass', close_reason: reason } });
  }

  /** @throws ProblemError wrong_state when it is not closed. */
  async reopen(id: string): Promise<BeadRecord> {
    const before = await this.require(id);
    if (before.status !== 'closed') throw problem('wrong_state', `bead ${id} is not closed (status: ${before.status})`);
    return this.update(id, { status: 'open' });
  }

  /** What somebody has changed of a bead's edges may let it go on. */
  async free(id: string): Promise<void> {
    for (const react of this.reactions.freed) await react(this, await this.require(id));
  }

  /** @param behind those that each of them holds up, in the order of their ids */
  async #closeTogether(closings: readonly Closing[], behind: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { tx, repository } = this;
    const { streamId } = this.city;
    const before = new Map(closings.map(({ id }) => [id, this.account.get(id)!]));
    const all = [...before.keys()];
    if (all.length === 0) return;
    const merges = closings.map(({ id, metadata }) => ({ id, ...mergeOf(before.get(id)!.metadata, metadata) }));
    const closed = await repository.closeEach(tx, streamId, merges);
    const held = new Map((await repository.edges.releasable(tx, streamId, all)).map((row) => [row.id, row]));
    const released = await repository.edges.releaseAll(tx, streamId, all);
    const after = new Map([...closed, ...released].map((row) => [row.id, row]));
    const left = new Map([...held].map(([id, row]) => [id, row.open_blockers]));
    // From here on as if they had been closed one after the other.
    for (const [id, bead] of before) {
      this.account.changed(bead, after.get(id));
      for (const waiting of behind.get(id) ?? []) {
        const [row, blockers] = [after.get(waiting)!, left.get(waiting)! - 1];
        left.set(waiting, blockers);
        this.account.changed(blockers === 0 ? (before.get(waiting) ?? held.get(waiting)) : row, row);
      }
      await this.#follow(id, true, true);
      for (const react of this.reactions.changed) await react(this, bead, this.account.get(id)!);
    }
  }

  /** So many convoys are about to close by themselves. */
  completing(count: number): void {
    this.#completed += count;
  }

  /** Whether as many convoys have closed by themselves as a transaction closes so. */
  #isLate(): boolean {
    return this.#completed > this.limits.few / CONVOY;
  }

  /** Whether a fan-out goes on with what follows from the closing of one of many: a convoy may be in one, and that in another, without end. */
  async #goesOnLater({ id, parent }: BeadRecord): Promise<boolean> {
    if (!this.#isLate()) return false;
    return parent !== null || (await this.repository.edges.of(this.tx, this.city.streamId, id, 'up', 1)).length > 0;
  }

  /** What follows from a bead's being closed; with many dependents, without what follows for them, and where a fan-out goes on, not for its parent either. */
  async #follow(id: string, many: boolean, later = false): Promise<void> {
    const closed = (): BeadRecord => this.account.get(id)!;
    for (const react of this.reactions.closing) await react(this, closed());
    const dependents = many || later ? [] : await this.edges(id, 'up');
    if (!later) await this.followUp(closed(), dependents);
    for (const react of this.reactions.closed) await react(this, closed());
  }

  protected async followUp(closed: BeadRecord, dependents: readonly Edge[]): Promise<void> {
    for (const react of this.reactions.dependents) await react(this, closed, dependents);
  }

  protected async followBereft(removed: BeadRecord, dependents: readonly Edge[]): Promise<void> {
    for (const react of this.reactions.bereft) await react(this, removed, dependents);
  }

  protected async followRemoval(removed: BeadRecord, dependents: readonly Edge[]): Promise<void> {
    await this.followBereft(removed, dependents);
    for (const react of this.reactions.removed) await react(this, removed, dependents);
  }
}
