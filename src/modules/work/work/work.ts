import { MAX_EDGES } from '../../../contract/beads.schemas.js';
import type { SessionCaller } from '../../../contract/principal.js';
import { problem, ProblemError } from '../../../contract/problems.js';
import { violatedConstraint } from '../../../platform/database/pg-errors.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { eventsIn, type EventDraft } from '../../../platform/event-log/event-draft.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { Account } from './account.js';
import type { Tells, WrittenAhead } from './ahead.js';
import { beadEvent, factsOf, type BeadFacts } from './bead-event.js';
import type { BeadChange, BeadRecord, Edge, LeftOut, NewBead, ReservedBead } from './bead-record.js';
import { diffOf, mergeOf, type Diff } from './diff.js';
import type { Held, HeldBehind, WorkRepository } from './work.repository.js';

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

export interface Reactions {
  /** What is the bead's own, before its dependents. */
  readonly closing: readonly ClosedReaction[];
  readonly dependents: readonly DependentsReaction[];
  readonly closed: readonly ClosedReaction[];
  readonly changed: readonly ChangedReaction[];
  /** For those that have lost the edge to a bead that is removed, now or when they all have. */
  readonly bereft: readonly RemovedReaction[];
  readonly removed: readonly RemovedReaction[];
}

/** How much one transaction does for the dependents of beads: all other writers of the city wait for it. */
export interface WorkLimits {
  /** So many are told in the transaction in which a bead closes or opens again; more are told in a fan-out. */
  readonly few: number;
  /** So many in a step of it. */
  readonly step: number;
}

/** A convoy that closes takes as long as so many dependents that only count. */
const CONVOY = 10;

/**
 * One transaction on a city's work, opened by `WorkService.run`: nobody else writes the city's work meanwhile, so what is
 * read here still holds when it is written. It keeps account of every bead it changes and makes exactly one event for
 * each whose row has really changed, in the order in which they first changed.
 */
export class Work {
  readonly #account = new Account();
  #clock: Promise<Date> | undefined;
  #completed = 0;

  constructor(
    readonly tx: Tx,
    readonly city: CityScope,
    /** The actor of every event of this transaction. */
    readonly actor: string,
    private readonly repository: WorkRepository,
    private readonly reactions: Reactions,
    private readonly limits: WorkLimits,
    private readonly written: WrittenAhead,
    /** The session that asks for it, where what closes by itself then is asked about. */
    readonly session?: SessionCaller,
  ) {}

  /** Whether it has made the bead, or found it. */
  has(id: string): boolean {
    return this.#account.get(id) !== undefined;
  }

  /** The last event of the city before those of this transaction. */
  head(): Promise<number> {
    return this.repository.head(this.tx, this.city.streamId);
  }

  async find(id: string): Promise<BeadRecord | undefined> {
    if (!this.#account.knows(id)) await this.findAll([id]);
    return this.#account.get(id);
  }

  /** Those of `ids` that exist, in the given order, each once. */
  async findAll(ids: readonly string[]): Promise<BeadRecord[]> {
    const unknown = [...new Set(ids)].filter((id) => !this.#account.knows(id) && !this.written.hides(id));
    if (unknown.length > 0) {
      const rows = new Map((await this.repository.find(this.tx, this.city.streamId, unknown)).map((row) => [row.id, row]));
      for (const id of unknown) this.#account.read(id, rows.get(id));
    }
    return [...new Set(ids)].flatMap((id) => this.#account.get(id) ?? []);
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

  /**
   * Makes an open bead, with an id that was reserved or the next one. Empty text and metadata without a value count as not given.
   *
   * @throws ProblemError rig_not_found; bead_not_found for the parent
   */
  async create(bead: NewBead, reserved?: string): Promise<BeadRecord> {
    const id = reserved ?? (await this.repository.nextId(this.tx, this.city.streamId, bead.rig));
    if (id === undefined) throw problem('rig_not_found', `rig ${bead.rig} not found`);
    if (bead.parent) await this.require(bead.parent);
    const { set: metadata } = mergeOf({}, bead.metadata ?? {});
    const row = await this.repository.insert(this.tx, this.city.streamId, id, { ...bead, labels: [...new Set(bead.labels)], metadata });
    this.#account.changed(undefined, row);
    return row;
  }

  /** Ids for so many new beads, one after the other. @throws ProblemError rig_not_found */
  async reserve(rig: string, count: number): Promise<string[]> {
    const ids = await this.repository.nextIds(this.tx, this.city.streamId, rig, count);
    if (ids.length === 0) throw problem('rig_not_found', `rig ${rig} not found`);
    return ids;
  }

  /**
   * Makes beads, and the edges from them: in as many statements for two hundred as for one. Ids are reserved ones.
   * What an edge leads to is one of them, or an open bead. What was written ahead of the transaction is there already. Answers them in the given order.
   */
  async createAll(beads: readonly ReservedBead[], edges: readonly Edge[]): Promise<BeadRecord[]> {
    const ahead = this.written.take(beads);
    if (ahead !== undefined) {
      this.#account.made(ahead.rows, ahead.created);
      return [...ahead.rows];
    }
    const rows = new Map((await this.repository.insertAll(this.tx, this.city.streamId, beads, edges)).map((row) => [row.id, row]));
    return beads.map(({ id }) => {
      const row = rows.get(id)!;
      this.#account.changed(undefined, row);
      return row;
    });
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
    for (const id of open) this.#account.changed(before.get(id), closed.get(id)?.row);
    const few = open.filter((id) => closed.get(id)?.many === false);
    const held = new Map((await repository.edges.releasable(tx, streamId, few)).map((row) => [row.id, row]));
    for (const row of await repository.edges.releaseAll(tx, streamId, few)) this.#account.changed(held.get(row.id), row);
    for (const id of open) if (closed.get(id)?.many === true) await repository.edges.fanOut(tx, streamId, id);
    for (const id of await repository.edges.watched(tx, streamId, open)) await this.#follow(id, closed.get(id)?.many === true);
    return open.length;
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
    for (const bead of closed) this.#account.changed(bead, opened.get(bead.id)?.row);
    const [many, few] = [all.filter((id) => opened.get(id)?.many === true), all.filter((id) => opened.get(id)?.many === false)];
    this.#counted(await repository.edges.recountWrong(tx, streamId, await repository.edges.waiting(tx, streamId, few)));
    for (const id of many) await repository.edges.fanOut(tx, streamId, id);
    for (const bead of closed) for (const react of this.reactions.changed) await react(this, bead, this.#account.get(bead.id)!);
  }

  /** Has many beads get a label, or lose it, in few statements. */
  async relabelAll(ids: readonly string[], label: string, has: boolean): Promise<void> {
    const before = new Map((await this.findAll(ids)).map((bead) => [bead.id, bead]));
    const changed = await this.repository.relabelAll(this.tx, this.city.streamId, [...before.keys()], label, has);
    for (const row of changed) this.#account.changed(before.get(row.id), row);
    for (const row of changed) for (const react of this.reactions.changed) await react(this, before.get(row.id)!, row);
  }

  /**
   * Changes a bead; a change that alters nothing writes nothing. A status that becomes `closed` does all that closing does.
   *
   * @throws ProblemError bead_not_found; wrong_state for a move from closed to in_progress, and for reopening a sling
   * convoy whose bead is followed by another one by now.
   */
  async update(id: string, change: BeadChange): Promise<BeadRecord> {
    await this.#tellParents([await this.require(id)], change);
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
    this.#account.changed(before, row);
    if ((before.status === 'closed') !== (row.status === 'closed')) {
      const later = row.status === 'closed' && (await this.#goesOnLater(row));
      if (many || later) await repository.edges.fanOut(tx, streamId, id);
      else await this.#shift(id, row.status === 'closed' ? -1 : 1);
      if (row.status === 'closed') await this.#follow(id, many, later);
    }
    for (const react of this.reactions.changed) await react(this, before, row);
    return this.#account.get(id)!;
  }

  /** As `update` of each of many beads, in few statements where it changes the status of none. Answers them in the given order. */
  async updateAll(ids: readonly string[], change: BeadChange): Promise<BeadRecord[]> {
    const same = new Map<string, { readonly diff: Diff; readonly beads: BeadRecord[] }>();
    const alone: string[] = [];
    await this.#tellParents(await this.findAll(ids), change);
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
      for (const bead of beads) this.#account.changed(bead, after.get(bead.id));
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

  /** Removes a bead and its edges in both directions; children stay. */
  async remove(id: string): Promise<void> {
    await this.#tellBefore([id]);
    const before = await this.require(id);
    const up = await this.edges(id, 'up');
    await this.findAll(up.map((edge) => edge.issue_id));
    await this.repository.edges.deleteAll(this.tx, this.city.streamId, id);
    await this.#recount(up);
    await this.repository.delete(this.tx, this.city.streamId, id);
    this.#account.changed(before, undefined);
    for (const react of [...this.reactions.bereft, ...this.reactions.removed]) await react(this, before, up);
  }

  /**
   * As `remove`, for a bead that many may depend on: then only some lose their edges to it, and it stays until the next time.
   *
   * @returns whether it is removed.
   */
  async removeSome(id: string): Promise<boolean> {
    const { tx, repository, limits } = this;
    const { streamId } = this.city;
    const up = await repository.edges.of(tx, streamId, id, 'up', Math.max(limits.few + 1, limits.step));
    if (up.length <= limits.few) {
      await this.remove(id);
      return true;
    }
    await this.#bereave(id, up.slice(0, limits.step));
    return false;
  }

  /**
   * Before `removeAll` of these: where more than few depend on them from outside, some of those lose their edges, and the beads stay until the next time.
   *
   * @returns whether few are left.
   */
  async bereaveSome(ids: readonly string[]): Promise<boolean> {
    const { tx, repository, limits } = this;
    const up = await repository.edges.outside(tx, this.city.streamId, ids, Math.max(limits.few + 1, limits.step));
    if (up.length <= limits.few) return true;
    for (const [id, some] of Map.groupBy(up.slice(0, limits.step), (edge) => edge.depends_on_id)) await this.#bereave(id, some);
    return false;
  }

  /** Removes many beads and their edges in few statements. What follows from it happens for those that somebody outside looked at. */
  async removeAll(ids: readonly string[]): Promise<void> {
    const { tx, repository } = this;
    const { streamId } = this.city;
    await this.#tellBefore(ids);
    const beads = await this.findAll(ids);
    const gone = new Set(beads.map(({ id }) => id));
    const watched = (await repository.edges.watched(tx, streamId, [...gone])).filter((id) => gone.has(id));
    const up = new Map<string, readonly Edge[]>();
    for (const id of watched)
      up.set(
        id,
        (await this.edges(id, 'up')).filter((edge) => !gone.has(edge.issue_id)),
      );
    const dependents = await this.findAll([...up.values()].flatMap((edges) => edges.map((edge) => edge.issue_id)));
    await repository.edges.deleteOf(tx, streamId, [...gone]);
    const counted = await repository.edges.recountAll(
      tx,
      streamId,
      dependents.map(({ id }) => id),
    );
    for (const row of counted) this.#account.changed(this.#account.get(row.id), row);
    await repository.deleteAll(tx, streamId, [...gone]);
    for (const bead of beads) this.#account.changed(bead, undefined);
    for (const bead of beads)
      if (up.has(bead.id))
        for (const react of [...this.reactions.bereft, ...this.reactions.removed]) await react(this, bead, up.get(bead.id)!);
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
    return this.repository.lockLease(this.tx, this.city.streamId, id);
  }

  /** What others than `names` have under way and one of `ids`, which are closed, would block. */
  heldBehind(ids: readonly string[], names: readonly string[]): Promise<HeldBehind | undefined> {
    return this.repository.heldBehind(this.tx, this.city.streamId, ids, names);
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
    return this.repository.heldWithin(this.tx, this.city.streamId, id, names, passes);
  }

  /** One of these beads that is a step which its run, which goes on, decides itself. */
  decidedAmong(ids: readonly string[]): Promise<string | undefined> {
    return this.repository.decidedAmong(this.tx, this.city.streamId, ids);
  }

  /** Whether a run has not ended. */
  goesOn(run: string): Promise<boolean> {
    return this.repository.goesOn(this.tx, this.city.streamId, run);
  }

  /** Whether a run that was launched for the bead goes on. */
  hasLiveRun(id: string): Promise<boolean> {
    return this.repository.hasLiveRun(this.tx, this.city.streamId, id);
  }

  /**
   * Adds an edge or changes its type; false when it is there already. Rules (cycles, who may) are the caller's.
   *
   * @throws ProblemError bead_not_found for either end; validation_failed when the bead would have more than `MAX_EDGES`, and more than it has.
   */
  putEdge(edge: Edge): Promise<boolean> {
    return this.putEdges(edge.issue_id, [edge.depends_on_id], edge.type);
  }

  /**
   * Adds edges of one type to all of `dependsOn`, or changes their type; false when all are there already. What a run adds to itself is bounded by its own limits.
   *
   * @throws as `putEdge`
   */
  async putEdges(issue: string, dependsOn: readonly string[], type: string, bounded = true): Promise<boolean> {
    const before = await this.#requireEnds(issue, dependsOn);
    const put = await this.repository.edges.put(this.tx, this.city.streamId, issue, dependsOn, type, MAX_EDGES);
    if (put.changed === 0) return false;
    if (bounded && put.added > 0 && put.known + put.added > MAX_EDGES) throw tooMany(issue);
    this.#account.changed(before, await this.repository.edges.recount(this.tx, this.city.streamId, issue));
    return true;
  }

  /** Takes away many edges of one bead at once; false when none of them was there. */
  async deleteEdges(issue: string, dependsOn: readonly string[]): Promise<boolean> {
    await this.#tellBefore(dependsOn, [issue]);
    const before = await this.require(issue);
    if ((await this.repository.edges.delete(this.tx, this.city.streamId, issue, dependsOn)) === 0) return false;
    this.#account.changed(before, await this.repository.edges.recount(this.tx, this.city.streamId, issue));
    return true;
  }

  /** False when there is no such edge. */
  deleteEdge(issue: string, dependsOn: string): Promise<boolean> {
    return this.deleteEdges(issue, [dependsOn]);
  }

  /** Does a part of the transaction that may be refused: nothing of it is written then, and the rest goes on as if it had not been tried. */
  async attempt<T>(part: () => Promise<T>): Promise<T> {
    const { tx, repository } = this;
    await repository.mark(tx);
    const tried = this.#account.attempt();
    try {
      const value = await part();
      tried.keep();
      await repository.unmark(tx);
      return value;
    } catch (error) {
      // Anything else ends the transaction.
      if (error instanceof ProblemError) {
        await repository.backToMark(tx);
        await repository.unmark(tx);
        tried.giveUp();
      }
      throw error;
    }
  }

  /** Adds an event of another kind after everything that has changed so far. */
  emit(...events: readonly NewEvent[]): void {
    this.#account.emit(events);
  }

  /** As `emit`, of what new beads tell together: it may have been written down ahead. */
  emitOf(beads: readonly ReservedBead[], made: readonly BeadRecord[], tells: Tells): void {
    const told = this.written.toldOf(beads);
    this.#account.emit(told === undefined ? tells(made, (bead) => this.facts(bead)) : [told]);
  }

  /** The events of this transaction: one for each bead that is not what it was. */
  events(): NewEvent[] {
    return eventsIn(this.entries());
  }

  /** As `events`, with drafts as they are. */
  entries(): (NewEvent | EventDraft)[] {
    return this.#account.events((before, after) => beadEvent(before, after, (bead) => this.facts(bead)));
  }

  async #requireEnds(issue: string, dependsOn: readonly string[]): Promise<BeadRecord> {
    await this.findAll([issue, ...dependsOn]);
    for (const id of dependsOn) await this.require(id);
    return this.require(issue);
  }

  /**
   * A step of the fan-out of a bead: has those at the other end of these edges count anew what blocks them, whatever they count now, and
   * where the bead is closed do what follows from that. Answers how many counted something else.
   */
  async tell(id: string, edges: readonly Edge[]): Promise<number> {
    const bead = await this.require(id);
    const counted = await this.repository.edges.recountWrong(
      this.tx,
      this.city.streamId,
      edges.map((edge) => edge.issue_id),
    );
    this.#counted(counted);
    if (bead.status === 'closed') for (const react of this.reactions.dependents) await react(this, bead, edges);
    return counted.length;
  }

  /** Of what a bead was before, its event takes only whether it was closed. */
  #counted(rows: Awaited<ReturnType<WorkRepository['edges']['recountWrong']>>): void {
    for (const { row, flips } of rows) this.#account.changed(flips ? { ...row, revision: row.revision - 1 } : row, row);
  }

  /**
   * Before edges to these beads go, from `issues` or from all: what a fan-out of a closed one has yet to tell them it tells now. It finds its dependents by
   * their edges, and without them a convoy would stay open for ever and a wait would fail. Those that go with the beads hear nothing.
   */
  async #tellBefore(ids: readonly string[], issues?: readonly string[]): Promise<void> {
    const { tx, repository } = this;
    const telling = await repository.edges.telling(tx, this.city.streamId, ids);
    if (telling.length === 0) return;
    const untold = Map.groupBy(await repository.edges.untold(tx, this.city.streamId, ids, issues), (edge) => edge.depends_on_id);
    // Where no edge is left its parent may still have to hear of it.
    for (const id of telling) if (issues === undefined || untold.has(id)) await this.tell(id, untold.get(id) ?? []);
  }

  /** Before closed beads get another parent: what a fan-out has yet to tell the one that they have is told now, as it finds that by them. */
  async #tellParents(beads: readonly BeadRecord[], { parent }: BeadChange): Promise<void> {
    if (parent === undefined) return;
    const leaving = beads.filter((bead) => bead.status === 'closed' && bead.parent !== null && bead.parent !== parent);
    if (leaving.length === 0) return;
    const ids = leaving.map(({ id }) => id);
    for (const id of await this.repository.edges.telling(this.tx, this.city.streamId, ids)) await this.tell(id, []);
  }

  /** Takes these edges to a bead away, which stays. */
  async #bereave(id: string, some: readonly Edge[]): Promise<void> {
    const issues = some.map((edge) => edge.issue_id);
    await this.#tellBefore([id], issues);
    const bead = await this.require(id);
    await this.findAll(issues);
    await this.repository.edges.deleteTo(this.tx, this.city.streamId, id, issues);
    await this.#recount(some);
    for (const react of this.reactions.bereft) await react(this, bead, some);
  }

  /** Has those that have lost these edges count anew. */
  async #recount(lost: readonly Edge[]): Promise<void> {
    const ids = [...new Set(lost.map((edge) => edge.issue_id))];
    for (const row of await this.repository.edges.recountAll(this.tx, this.city.streamId, ids))
      this.#account.changed(this.#account.get(row.id), row);
  }

  /** So many convoys are about to close by themselves. */
  completing(count: number): void {
    this.#completed += count;
  }

  /** Whether a fan-out goes on with what follows from the closing of one of many: a convoy may be in one, and that in another, without end. */
  async #goesOnLater({ id, parent }: BeadRecord): Promise<boolean> {
    if (this.#completed <= this.limits.few / CONVOY) return false;
    return parent !== null || (await this.repository.edges.of(this.tx, this.city.streamId, id, 'up', 1)).length > 0;
  }

  /** What follows from a bead's being closed; with many dependents, without what follows for them, and where a fan-out goes on, not for its parent either. */
  async #follow(id: string, many: boolean, later = false): Promise<void> {
    const closed = (): BeadRecord => this.#account.get(id)!;
    for (const react of this.reactions.closing) await react(this, closed());
    const dependents = many || later ? [] : await this.edges(id, 'up');
    if (!later) for (const react of this.reactions.dependents) await react(this, closed(), dependents);
    for (const react of this.reactions.closed) await react(this, closed());
  }

  /** Tells the dependents of `id` that it blocks them now, or no longer does. Those that others block anyway only count anew. */
  async #shift(id: string, by: 1 | -1): Promise<void> {
    const flipped = new Map((await this.repository.edges.flipped(this.tx, this.city.streamId, id, by)).map((row) => [row.id, row]));
    for (const row of await this.repository.edges.shiftBlockers(this.tx, this.city.streamId, id, by))
      this.#account.changed(flipped.get(row.id) ?? row, row);
  }

  /** The envelope of an event about a bead. */
  facts(bead: BeadRecord): BeadFacts {
    return factsOf(bead, this.city.stream, this.actor);
  }
}

function tooMany(id: string): ProblemError {
  const message = `${id} would have more than ${MAX_EDGES} dependencies`;
  return problem('validation_failed', 'validation failed', { errors: [{ message, location: 'bead.dependencies' }] });
}
