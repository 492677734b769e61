import type { BeadRecord, Edge } from './bead-record.js';
import { WorkEdges } from './work-edges.js';

/** How a transaction on a city's work removes beads. */
export abstract class WorkRemovals extends WorkEdges {
  /** Does what follows for those that have lost their edges to a bead, which is removed now or once they all have. */
  protected abstract followBereft(removed: BeadRecord, dependents: readonly Edge[]): Promise<void>;

  /** The same, and what follows from its being removed. */
  protected abstract followRemoval(removed: BeadRecord, dependents: readonly Edge[]): Promise<void>;

  /** Removes a bead and its edges in both directions; children stay. */
  async remove(id: string): Promise<void> {
    await this.tellBefore([id]);
    const before = await this.require(id);
    const up = await this.edges(id, 'up');
    await this.findAll(up.map((edge) => edge.issue_id));
    await this.repository.edges.deleteAll(this.tx, this.city.streamId, id);
    await this.recount(up);
    await this.repository.delete(this.tx, this.city.streamId, id);
    this.account.changed(before, undefined);
    await this.followRemoval(before, up);
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
    await this.tellBefore(ids);
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
    for (const row of counted) this.account.changed(this.account.get(row.id), row);
    await repository.deleteAll(tx, streamId, [...gone]);
    for (const bead of beads) this.account.changed(bead, undefined);
    for (const bead of beads) if (up.has(bead.id)) await this.followRemoval(bead, up.get(bead.id)!);
  }

  /** Takes these edges to a bead away, which stays. */
  async #bereave(id: string, some: readonly Edge[]): Promise<void> {
    const issues = some.map((edge) => edge.issue_id);
    await this.tellBefore([id], issues);
    const bead = await this.require(id);
    await this.findAll(issues);
    await this.repository.edges.deleteTo(this.tx, this.city.streamId, id, issues);
    await this.recount(some);
    await this.followBereft(bead, some);
  }
}
