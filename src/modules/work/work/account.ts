import type { EventDraft } from '../../../platform/event-log/event-draft.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import type { BeadRecord } from './bead-record.js';

type Known = BeadRecord | undefined;
/** What was known of beads before they were changed; absent is what was not known. */
type Tried = Map<string, { readonly bead: Known } | undefined>;

/** Beads whose creation was written down ahead: it holds as long as none of them has changed since. */
interface Made {
  readonly rows: readonly BeadRecord[];
  readonly draft: EventDraft;
}

/** What one transaction knows of the beads of a city, and what it has done to them. */
export class Account {
  readonly #before = new Map<string, Known>();
  readonly #now = new Map<string, Known>();
  /** Ids of changed beads, and events of other kinds, in causal order. */
  readonly #order: (string | Made | { readonly told: NewEvent | EventDraft })[] = [];
  /** Of the parts that are tried now, each in the one before it. */
  readonly #tried: Tried[] = [];

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
    this.#try(id);
    if (!this.#before.has(id) && before?.revision !== after?.revision) {
      this.#before.set(id, before);
      this.#order.push(id);
    }
    this.#now.set(id, after);
  }

  /** As `changed` of each of new beads, where a draft has the events of that. */
  made(rows: readonly BeadRecord[], draft: EventDraft): void {
    for (const row of rows) {
      this.#try(row.id);
      this.#before.set(row.id, undefined);
      this.#now.set(row.id, row);
    }
    this.#order.push({ rows, draft });
  }

  emit(events: readonly (NewEvent | EventDraft)[]): void {
    for (const told of events) this.#order.push({ told });
  }

  /** Everything that has happened, in the order in which it first did: events as they are, and a bead as what it was and what it is. */
  events(eventOf: (before: Known, after: Known) => NewEvent | undefined): (NewEvent | EventDraft)[] {
    const one = (id: string): NewEvent | [] => eventOf(this.#before.get(id), this.#now.get(id)) ?? [];
    return this.#order.flatMap((entry) => {
      if (typeof entry === 'string') return one(entry);
      if ('told' in entry) return entry.told;
      return entry.rows.every((row) => this.#now.get(row.id) === row) ? entry.draft : entry.rows.flatMap(({ id }) => one(id));
    });
  }

  #try(id: string): void {
    for (const tried of this.#tried) if (!tried.has(id)) tried.set(id, this.#now.has(id) ? { bead: this.#now.get(id) } : undefined);
  }

  /** Begins a part that may be given up: answers how it ends. */
  attempt(): { keep(): void; giveUp(): void } {
    const tried: Tried = new Map();
    const length = this.#order.length;
    const keep = (): void => {
      this.#tried.pop();
    };
    this.#tried.push(tried);
    return {
      keep,
      giveUp: () => {
        for (const entry of this.#order.splice(length))
          if (typeof entry === 'string') this.#before.delete(entry);
          else if ('rows' in entry) for (const { id } of entry.rows) this.#before.delete(id);
        for (const [id, known] of tried)
          if (known === undefined) this.#now.delete(id);
          else this.#now.set(id, known.bead);
        keep();
      },
    };
  }
}
