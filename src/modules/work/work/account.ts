import type { NewEvent } from '../../../platform/event-log/event.js';
import type { BeadRecord } from './bead-record.js';

type Known = BeadRecord | undefined;
/** What was known of beads before they were changed; absent is what was not known. */
type Tried = Map<string, { readonly bead: Known } | undefined>;

/** What one transaction knows of the beads of a city, and what it has done to them. */
export class Account {
  readonly #before = new Map<string, Known>();
  readonly #now = new Map<string, Known>();
  /** Ids of changed beads, and events of other kinds, in causal order. */
  readonly #order: (string | NewEvent)[] = [];
  /** Of the part that is tried now. */
  #tried: Tried | undefined;

  knows(id: string): boolean {
    return this.#now.has(id);
  }

  get(id: string): Known {
    return this.#now.get(id);
  }

  read(id: string, row: Known): void {
    this.#now.set(id, row);
  }

  changed(before: Known, after: Known): void {
    const id = (before ?? after)!.id;
    if (this.#tried?.has(id) === false) this.#tried.set(id, this.#now.has(id) ? { bead: this.#now.get(id) } : undefined);
    if (!this.#before.has(id) && before?.revision !== after?.revision) {
      this.#before.set(id, before);
      this.#order.push(id);
    }
    this.#now.set(id, after);
  }

  emit(events: readonly NewEvent[]): void {
    this.#order.push(...events);
  }

  /** Everything that has happened, in the order in which it first did: events as they are, and a bead as what it was and what it is. */
  events(eventOf: (before: Known, after: Known) => NewEvent | undefined): NewEvent[] {
    return this.#order.flatMap((entry) =>
      typeof entry === 'string' ? (eventOf(this.#before.get(entry), this.#now.get(entry)) ?? []) : entry,
    );
  }

  /** Begins a part that may be given up: answers how it ends. */
  attempt(): { keep(): void; giveUp(): void } {
    const tried: Tried = new Map();
    const length = this.#order.length;
    const keep = (): void => (this.#tried = undefined);
    this.#tried = tried;
    return {
      keep,
      giveUp: () => {
        for (const entry of this.#order.splice(length)) if (typeof entry === 'string') this.#before.delete(entry);
        for (const [id, known] of tried)
          if (known === undefined) this.#now.delete(id);
          else this.#now.set(id, known.bead);
        keep();
      },
    };
  }
}
