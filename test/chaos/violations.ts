/** What must hold; the checker reports violations by these names. */
const PROPERTIES = [
  'ordered',
  'unique',
  'gap-free',
  'reliable',
  'nothing uncommitted',
  'filtered',
  'resumable',
  'bookmarks true',
  'one terminal event',
  'dense sequences',
  'row with event',
  'no silent stream',
  'pre-header errors',
  'idempotent',
  'no internal errors',
  'stays up',
  'orderly stop',
  'work told',
  'work once',
  'work kept',
  'no lost update',
  'one claimant',
  'lease kept',
  'blockers',
  'convoy once',
  'run once',
  'mail told',
  'config told',
  'config once',
  'config kept',
  'config clean',
  'one process',
  'no orphan',
  'stopped means stopped',
  'delivered once',
  'message settled',
  'in order',
  'transcript true',
  'stream true',
  'states legal',
  'answered once',
  'accepts commands',
  'one firing',
  'fires once',
  'ends once',
  'run of its firing',
  'history true',
  'failures counted',
  'carried out',
  'order alive',
  'once from outside',
  'members told',
  'one final state',
  'one id',
  'fenced',
  'no gaps',
  'acks kept',
  'one binding',
] as const;
export type Property = (typeof PROPERTIES)[number];

export interface Violation {
  readonly property: Property;
  readonly message: string;
  /** The entries of the history that show it. */
  readonly entries: readonly unknown[];
}

const KEPT_A_PROPERTY = 20;

/** Collects violations; of one property only the first are kept, because one mistake tends to show a thousand times. */
export class Violations {
  readonly #found: Violation[] = [];
  readonly counts = new Map<Property, number>();

  add(property: Property, message: string, ...entries: unknown[]): void {
    const count = (this.counts.get(property) ?? 0) + 1;
    this.counts.set(property, count);
    if (count <= KEPT_A_PROPERTY) this.#found.push({ property, message, entries });
  }

  get all(): readonly Violation[] {
    return this.#found;
  }
}
