import type { EventDraft } from '../../../platform/event-log/event-draft.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import type { BeadFacts } from './bead-event.js';
import type { BeadRecord, Edge, ReservedBead } from './bead-record.js';

/** What a list of new beads tells beside that they are there. */
export type Tells = (made: readonly BeadRecord[], facts: (bead: BeadRecord) => BeadFacts) => NewEvent[];

/**
 * Beads, and the edges from them, that a transaction writes before it waits for its city. Their ids were reserved in a transaction that is over,
 * so nobody waits for them, and nobody sees them before the commit.
 */
export interface Ahead {
  readonly beads: readonly ReservedBead[];
  readonly edges: readonly Edge[];
  readonly tells?: Tells | undefined;
}

/** The rows of such a list, in its order, and the events about them. */
export interface Written {
  readonly rows: readonly BeadRecord[];
  readonly created: EventDraft;
  readonly told: EventDraft | undefined;
}

/** What a transaction has written ahead. It is as if it were not there until it is taken. */
export class WrittenAhead {
  readonly #lists = new Map<readonly ReservedBead[], Written>();
  readonly #hidden = new Set<string>();

  add({ beads }: Ahead, written: Written): void {
    this.#lists.set(beads, written);
    for (const { id } of beads) this.#hidden.add(id);
  }

  hides(id: string): boolean {
    return this.#hidden.has(id);
  }

  /** What was written of the very list; undefined where it was not written ahead. */
  take(beads: readonly ReservedBead[]): Written | undefined {
    const written = this.#lists.get(beads);
    if (written !== undefined) for (const { id } of beads) this.#hidden.delete(id);
    return written;
  }

  /** What `tells` of the list has said, ahead as well. */
  toldOf(beads: readonly ReservedBead[]): EventDraft | undefined {
    return this.#lists.get(beads)?.told;
  }

  /** Beads that nothing was made of, or that were given up again. */
  unused(isMade: (id: string) => boolean): string[] {
    return [...this.#lists.keys()].flatMap((beads) => beads.map(({ id }) => id)).filter((id) => !isMade(id));
  }

  drafts(): EventDraft[] {
    return [...this.#lists.values()].flatMap(({ created, told }) => (told === undefined ? [created] : [created, told]));
  }
}
