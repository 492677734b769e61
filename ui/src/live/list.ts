import { Ordered } from './ordered.js';

/** A list that is exact to the last event: joined first, read second, and what comes applied by version. Knows neither React nor a browser. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** There are at least `total`. */
  readonly least?: boolean | undefined;
  readonly next?: string | undefined;
  /** The position of the log that it is as of, where things are versioned by that. */
  readonly index?: number | undefined;
}

/** A page as the list operations answer it. */
export interface Answered<T> {
  readonly items: readonly T[] | null;
  readonly total: number;
  readonly total_is_estimate?: boolean;
  readonly next_cursor?: string;
}

export const pageOf = <T>({ items, total, total_is_estimate: least, next_cursor: next }: Answered<T>): Page<T> => ({
  items: items ?? [],
  total,
  least,
  next,
});

export interface Source<T> {
  /** A page of what the service has. */
  readonly read: (cursor: string | undefined) => Promise<Page<T>>;
  readonly id: (item: T) => string;
  /**
   * Of two states of one thing the higher counts. Where things have no version, the position of the log does that tells them, and where
   * reads have none, their order.
   */
  readonly version?: (item: T) => number;
  /** Whether it belongs to the list. */
  readonly matches?: (item: T) => boolean;
  readonly order: (a: T, b: T) => number;
  /** When a flush is due: once a frame. */
  readonly schedule: (flush: () => void) => void;
  readonly most?: number;
}

export interface Snapshot<T> {
  readonly rows: readonly T[];
  /** Of the rows; the same for as long as they are in the same order. */
  readonly ids: readonly string[];
  readonly total: number;
  /** There are at least `total`. */
  readonly least: boolean;
  /** `first`: nothing was read yet. */
  readonly phase: 'first' | 'reading' | 'live';
  /** Why the last read has failed; what is shown is what was there before. */
  readonly error: unknown;
  readonly asOf: number;
  /** There is more than the list keeps. */
  readonly cut: boolean;
}

interface Row<T> {
  readonly item: T;
  readonly version: number;
  readonly shown: boolean;
  /** Which read has seen it last, or was under way when an event brought it. */
  readonly round: number;
}

const shownOf = <T>(row: Row<T> | undefined): T | undefined => (row?.shown === true ? row.item : undefined);

const MOST = 20_000;
const NOTHING = { rows: [], ids: [] };

/** What was read as of a position knows all up to there, and may know more of it than the event there. */
export function asOf(index: number): number;
export function asOf(index: number | undefined): number | undefined;
export function asOf(index: number | undefined): number | undefined {
  return index === undefined ? undefined : index + 0.5;
}

export class LiveList<T> {
  readonly #rows = new Map<string, Row<T>>();
  /** What is gone is gone, unless the service goes on from a backup: ids are never used twice. */
  readonly #gone = new Set<string>();
  /** Which have changed since the last flush, and what of them was shown then. */
  readonly #touched = new Map<string, T | undefined>();
  readonly #shown: Ordered<T>;
  readonly #listeners = new Set<() => void>();
  #snapshot: Snapshot<T> = { rows: [], ids: [], total: 0, least: false, phase: 'first', error: undefined, asOf: 0, cut: false };
  #dirty = false;
  #scheduled = false;
  #round = 0;
  #stamp = 0;
  #phase: Snapshot<T>['phase'] = 'first';
  #error: unknown;
  #cut = false;
  /** What the service counts, while not everything is here. */
  #counted = 0;
  #least = false;

  constructor(private readonly source: Source<T>) {
    this.#shown = new Ordered(source.id, source.order);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly snapshot = (): Snapshot<T> => this.#snapshot;

  /** Why the last read has failed, also before that is shown. */
  get error(): unknown {
    return this.#error;
  }

  /** What the service counts by now, where the rows tell it no more. */
  count(total: number, least: boolean): void {
    this.#counted = total;
    this.#least = least;
    this.#changed();
  }

  get(id: string): T | undefined {
    return this.#rows.get(id)?.item;
  }

  /** The stream is joined, or frames of it may be missing: everything is read, and takes the place of what is shown when it is all there. */
  async read(): Promise<void> {
    const round = ++this.#round;
    const first = this.#phase === 'first';
    if (!first) this.#phase = 'reading';
    const most = this.source.most ?? MOST;
    try {
      let seen = 0;
      let cut = false;
      for (let cursor: string | undefined; ;) {
        const stamp = ++this.#stamp;
        const page = await this.source.read(cursor);
        if (round !== this.#round) return;
        for (const item of page.items) this.#put(item, this.source.version?.(item) ?? asOf(page.index) ?? stamp, round);
        seen += page.items.length;
        this.#counted = page.total;
        this.#least = page.least === true;
        cursor = page.next;
        if (first) {
          this.#phase = 'reading';
          this.#changed();
        }
        if (cursor === undefined) break;
        if (seen >= most) {
          cut = true;
          break;
        }
      }
      for (const [id, row] of this.#rows) {
        // What no page had, and no event has brought meanwhile, is no longer there.
        if (row.round < round) this.#drop(id);
        else this.#judge(id, row);
      }
      this.#cut = cut;
      this.#error = undefined;
    } catch (error) {
      if (round !== this.#round) return;
      this.#error = error;
    }
    this.#phase = this.#error === undefined || !first ? 'live' : 'first';
    this.#changed();
  }

  /** A read that somebody makes on his own: its number, for what it brings. */
  stamp(): number {
    return ++this.#stamp;
  }

  /** What an event, an answer or a read of its own tells; `at` is its position in the log, or its stamp. */
  put(item: T, at?: number): void {
    this.#put(item, this.source.version?.(item) ?? at ?? ++this.#stamp, this.#round);
  }

  /** A part of it that has a version of its own is another one; of the rest a read that is on its way may know more. */
  amend(id: string, change: (item: T) => T): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    const item = change(row.item);
    if (item === row.item) return;
    this.#touch(id);
    this.#rows.set(id, { ...row, item, shown: this.source.matches?.(item) ?? true });
    this.#changed();
  }

  /**
   * Frames may be missing, and the service may go on from a backup that lacks what they told: whatever is told from now on counts more than
   * what is here, which is shown until a read has taken its place.
   */
  doubt(): void {
    for (const [id, row] of this.#rows) this.#rows.set(id, { ...row, version: -Infinity });
    this.#gone.clear();
  }

  remove(id: string): void {
    this.#gone.add(id);
    if (this.#gone.size > MOST) this.#gone.delete(this.#gone.values().next().value!);
    if (this.#drop(id)) this.#changed();
  }

  #put(item: T, version: number, round: number): void {
    const id = this.source.id(item);
    if (this.#gone.has(id)) return;
    const before = this.#rows.get(id);
    if (before !== undefined && before.version >= version) {
      if (before.round < round) this.#rows.set(id, { ...before, round });
      return;
    }
    this.#touch(id);
    this.#rows.set(id, { item, version, shown: this.source.matches?.(item) ?? true, round });
    this.#changed();
  }

  /** By an answer more may be known of what belongs to the list than when an event brought it, also while the answer was on its way. */
  #judge(id: string, row: Row<T>): void {
    const shown = this.source.matches?.(row.item) ?? true;
    if (shown === row.shown) return;
    this.#touch(id);
    this.#rows.set(id, { ...row, shown });
  }

  #touch(id: string): void {
    if (this.#touched.has(id)) return;
    this.#touched.set(id, shownOf(this.#rows.get(id)));
  }

  #drop(id: string): boolean {
    if (!this.#rows.has(id)) return false;
    this.#touch(id);
    return this.#rows.delete(id);
  }

  #changed(): void {
    this.#dirty = true;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.source.schedule(() => this.flush());
  }

  /** Events go on for as long as somebody looks: neither what is shown nor what is only known grows without end. */
  #forget(): void {
    const most = this.source.most ?? MOST;
    const count = this.#shown.rows.length;
    for (const item of this.#shown.keep(most)) this.#rows.delete(this.source.id(item));
    if (count > most) {
      this.#counted = Math.max(this.#counted, count);
      this.#cut = true;
    }
    if (this.#rows.size - this.#shown.rows.length <= most) return;
    // Their versions mattered to pages that were on their way.
    for (const [id, { shown }] of this.#rows) if (!shown) this.#rows.delete(id);
  }

  /** Makes what has changed visible. */
  flush(): void {
    this.#scheduled = false;
    if (!this.#dirty) return;
    this.#dirty = false;
    const changes = [...this.#touched].map(([id, before]) => [before, shownOf(this.#rows.get(id))] as const);
    this.#touched.clear();
    this.#shown.apply(changes, () => [...this.#rows.values()].flatMap(({ shown, item }) => (shown ? [item] : [])));
    if (this.#phase !== 'reading') this.#forget();
    // What events bring before anything was read is some of it, and would be taken for all.
    const { rows, ids } = this.#phase === 'first' ? NOTHING : this.#shown;
    const whole = this.#phase === 'live' && !this.#cut;
    this.#snapshot = {
      rows,
      ids,
      total: whole ? rows.length : Math.max(rows.length, this.#counted),
      least: this.#least && !whole,
      phase: this.#phase,
      error: this.#error,
      asOf: this.#error === undefined ? Date.now() : this.#snapshot.asOf,
      cut: this.#cut,
    };
    for (const listener of this.#listeners) listener();
  }
}
