import { GroupCommitter } from './group-committer.js';
import { isBlocked } from './pg-errors.js';

/** What the writes of all cities share. */
const SHARED = '~';
/** So many transactions it has at once: while one commits, the requests of others are read and answered. Two leave a third of two cores idle, four cost more than they find. */
const LANES = 3;
/** For `mostShared`: batches of more are worth a line of their own. */
export const FEW = 16;
/** So long it keeps that line. Between two batches all of its callers are answered, and half of them would begin to share, and be in the way of the others. */
const APART_MS = 1_000;

/**
 * Combines the concurrent writes of this process, those of many cities, into few transactions. Nobody waits there for what another city has
 * locked: a city in which somebody else writes goes on in batches of its own, which wait, and so does what comes after for it until none is left.
 */
export abstract class SharedCommitter<R, I extends { readonly city: string }> extends GroupCommitter<R, I> {
  /** Of a city, those that are not answered yet. */
  readonly #underWay = new Map<string, number>();
  /** Cities that had too many under way just now. */
  readonly #apart = new Set<string>();
  /** A city that has so many under way has a line of its own: others do not wait for its batches. */
  protected readonly mostShared: number = Infinity;

  /** Commits one item with whatever else waits; `apart` with what its own city has. */
  protected async commit(item: I, bytes: number, apart = false): Promise<R> {
    const { city } = item;
    const underWay = this.#underWay.get(city) ?? 0;
    this.#underWay.set(city, underWay + 1);
    if (underWay >= this.mostShared) this.#keepApart(city);
    try {
      return await this.enqueue(apart || this.#apart.has(city) || this.isBusy(city) ? city : SHARED, item, bytes);
    } finally {
      const left = this.#underWay.get(city)! - 1;
      if (left === 0) this.#underWay.delete(city);
      else this.#underWay.set(city, left);
    }
  }

  #keepApart(city: string): void {
    if (this.#apart.has(city)) return;
    this.#apart.add(city);
    setTimeout(() => this.#apart.delete(city), APART_MS).unref();
  }

  /** Whether a batch may have items of other cities: it must not wait then. */
  protected isShared(key: string): boolean {
    return key === SHARED;
  }

  /** What `write` answers for the items; `busy` for each where a shared batch would have waited. */
  protected async unlessBlocked(key: string, items: readonly I[], busy: R, write: () => Promise<R[]>): Promise<R[]> {
    try {
      return await write();
    } catch (error) {
      if (this.isShared(key) && isBlocked(error)) return items.map(() => busy);
      throw error;
    }
  }

  protected override lanesOf(key: string): number {
    return key === SHARED ? LANES : 1;
  }

  protected override ownerOf({ city }: I): string {
    return city;
  }
}
