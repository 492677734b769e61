import { problem } from '../../../contract/problems.js';
import type { BeadRecord, Edge, NewBead, ReservedBead } from './bead-record.js';
import { mergeOf } from './diff.js';
import { WorkReads } from './work-reads.js';

/** How a transaction on a city's work makes beads. */
export class WorkCreations extends WorkReads {
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
    this.account.changed(undefined, row);
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
      this.account.made(ahead.rows, ahead.created);
      return [...ahead.rows];
    }
    const rows = new Map((await this.repository.insertAll(this.tx, this.city.streamId, beads, edges)).map((row) => [row.id, row]));
    return beads.map(({ id }) => {
      const row = rows.get(id)!;
      this.account.changed(undefined, row);
      return row;
    });
  }
}
