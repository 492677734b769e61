import { MAX_EDGES } from '../../../contract/beads.schemas.js';
import { problem, type ProblemError } from '../../../contract/problems.js';
import type { BeadChange, BeadRecord, Edge } from './bead-record.js';
import { WorkCreations } from './work-creations.js';
import type { WorkRepository } from './work.repository.js';

/** What a transaction on a city's work does to edges, and what it tells those at their other end. */
export abstract class WorkEdges extends WorkCreations {
  /** Does what follows for some of those that depend on a bead that is closed. */
  protected abstract followUp(closed: BeadRecord, dependents: readonly Edge[]): Promise<void>;

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
    this.account.changed(before, await this.repository.edges.recount(this.tx, this.city.streamId, issue));
    return true;
  }

  /** Takes away many edges of one bead at once; false when none of them was there. */
  async deleteEdges(issue: string, dependsOn: readonly string[]): Promise<boolean> {
    await this.tellBefore(dependsOn, [issue]);
    const before = await this.require(issue);
    if ((await this.repository.edges.delete(this.tx, this.city.streamId, issue, dependsOn)) === 0) return false;
    this.account.changed(before, await this.repository.edges.recount(this.tx, this.city.streamId, issue));
    return true;
  }

  /** False when there is no such edge. */
  deleteEdge(issue: string, dependsOn: string): Promise<boolean> {
    return this.deleteEdges(issue, [dependsOn]);
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
    this.counted(counted);
    if (bead.status === 'closed') await this.followUp(bead, edges);
    return counted.length;
  }

  /** Of what a bead was before, its event takes only whether it was closed. */
  protected counted(rows: Awaited<ReturnType<WorkRepository['edges']['recountWrong']>>): void {
    for (const { row, flips } of rows) this.account.changed(flips ? { ...row, revision: row.revision - 1 } : row, row);
  }

  /**
   * Before edges to these beads go, from `issues` or from all: what a fan-out of a closed one has yet to tell them it tells now. It finds its dependents by
   * their edges, and without them a convoy would stay open for ever and a wait would fail. Those that go with the beads hear nothing.
   */
  protected async tellBefore(ids: readonly string[], issues?: readonly string[]): Promise<void> {
    const { tx, repository } = this;
    const telling = await repository.edges.telling(tx, this.city.streamId, ids);
    if (telling.length === 0) return;
    const untold = Map.groupBy(await repository.edges.untold(tx, this.city.streamId, ids, issues), (edge) => edge.depends_on_id);
    // Where no edge is left its parent may still have to hear of it.
    for (const id of telling) if (issues === undefined || untold.has(id)) await this.tell(id, untold.get(id) ?? []);
  }

  /** Before closed beads get another parent: what a fan-out has yet to tell the one that they have is told now, as it finds that by them. */
  protected async tellParents(beads: readonly BeadRecord[], { parent }: BeadChange): Promise<void> {
    if (parent === undefined) return;
    const leaving = beads.filter((bead) => bead.status === 'closed' && bead.parent !== null && bead.parent !== parent);
    if (leaving.length === 0) return;
    const ids = leaving.map(({ id }) => id);
    for (const id of await this.repository.edges.telling(this.tx, this.city.streamId, ids)) await this.tell(id, []);
  }

  /** Has those that have lost these edges count anew. */
  protected async recount(lost: readonly Edge[]): Promise<void> {
    const ids = [...new Set(lost.map((edge) => edge.issue_id))];
    for (const row of await this.repository.edges.recountAll(this.tx, this.city.streamId, ids))
      this.account.changed(this.account.get(row.id), row);
  }

  /** Tells the dependents of `id` that it blocks them now, or no longer does. Those that others block anyway only count anew. */
  protected async shift(id: string, by: 1 | -1): Promise<void> {
    const flipped = new Map((await this.repository.edges.flipped(this.tx, this.city.streamId, id, by)).map((row) => [row.id, row]));
    for (const row of await this.repository.edges.shiftBlockers(this.tx, this.city.streamId, id, by))
      this.account.changed(flipped.get(row.id) ?? row, row);
  }
}

function tooMany(id: string): ProblemError {
  const message = `${id} would have more than ${MAX_EDGES} dependencies`;
  return problem('validation_failed', 'validation failed', { errors: [{ message, location: 'bead.dependencies' }] });
}
