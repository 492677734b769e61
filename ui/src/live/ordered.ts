/** What one thing was when the rows were last put in order, and what it is now; undefined where it was not, or is not, among them. */
export type Change<T> = readonly [before: T | undefined, after: T | undefined];

/** More changes than this part of the rows are sorted together. */
const FEW = 16;

/**
 * Rows in their order, which is one of all: no two of them are equal. Few changes are put where they belong, so that a list of thousands
 * is neither sorted nor numbered anew for each event. Knows neither React nor a browser.
 */
export class Ordered<T> {
  #rows: readonly T[] = [];
  #ids: readonly string[] = [];

  constructor(
    private readonly id: (item: T) => string,
    private readonly order: (a: T, b: T) => number,
  ) {}

  /** Another array for every change of any row. */
  get rows(): readonly T[] {
    return this.#rows;
  }

  /** Their ids: the same array for as long as they are the same in the same order. */
  get ids(): readonly string[] {
    return this.#ids;
  }

  /** @param all every row there is now, for when there are too many changes to go by them. */
  apply(told: readonly Change<T>[], all: () => T[]): void {
    const changes = told.filter(([before, after]) => before !== after);
    if (changes.length === 0) return;
    const rows = this.#rows.slice();
    if (changes.length * FEW > rows.length || !this.#place(rows, changes)) this.#take(all().sort(this.order));
  }

  /** Forgets all but the first; what was forgotten. */
  keep(most: number): readonly T[] {
    const rest = this.#rows.slice(most);
    if (rest.length > 0) this.#take(this.#rows.slice(0, most));
    return rest;
  }

  #take(rows: readonly T[]): void {
    const same = rows.length === this.#ids.length && rows.every((row, i) => this.id(row) === this.#ids[i]);
    this.#rows = rows;
    if (!same) this.#ids = rows.map(this.id);
  }

  /** False where a row is not where its order says: then nothing is known of the others either. */
  #place(rows: T[], changes: readonly Change<T>[]): boolean {
    let moved = false;
    for (const [before, after] of changes) {
      const at = this.#firstNotBefore(rows, before ?? after!);
      if (before === undefined) {
        rows.splice(at, 0, after!);
        moved = true;
      } else if (rows[at] !== before) return false;
      else if (after !== undefined && this.#fits(rows, at, after)) rows[at] = after;
      else {
        rows.splice(at, 1);
        if (after !== undefined) rows.splice(this.#firstNotBefore(rows, after), 0, after);
        moved = true;
      }
    }
    this.#rows = rows;
    if (moved) this.#ids = rows.map(this.id);
    return true;
  }

  #fits(rows: readonly T[], at: number, item: T): boolean {
    return (at === 0 || this.order(rows[at - 1]!, item) < 0) && (at === rows.length - 1 || this.order(item, rows[at + 1]!) < 0);
  }

  #firstNotBefore(rows: readonly T[], item: T): number {
    let from = 0;
    let to = rows.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      // Some orders say of one thing that it is before itself.
      if (rows[middle] !== item && this.order(rows[middle]!, item) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
