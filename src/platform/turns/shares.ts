export interface ShareLimits {
  /** Places in all. */
  readonly places: number;
  /** How many of them one city may have that is alone. */
  readonly perCity: number;
}

/**
 * Counts the places of cities, and says who may have one more: held × (places − perCity) < perCity × free. So the fuller it gets, the fewer a city may have, and
 * a city without a place finds one, however many others are greedy. A city that is alone may have `perCity`.
 */
export class Shares<City> {
  readonly #held = new Map<City, number>();
  #taken = 0;

  constructor(private readonly limits: ShareLimits) {}

  /** Those that have a place. */
  get holders(): City[] {
    return [...this.#held.keys()];
  }

  /** Those of them that may not have one more now. */
  get full(): City[] {
    return this.holders.filter((city) => !this.admits(city));
  }

  /** How many a city has. */
  of(city: City): number {
    return this.#held.get(city) ?? 0;
  }

  admits(city: City): boolean {
    const { places } = this.limits;
    const perCity = Math.min(this.limits.perCity, places);
    const free = places - this.#taken;
    return free > 0 && this.of(city) * (places - perCity) < perCity * free;
  }

  /** Takes a place, whatever the limits say. Call the result once to give it back. */
  take(city: City): () => void {
    this.#taken++;
    this.#held.set(city, this.of(city) + 1);
    return () => {
      this.#taken--;
      const left = this.of(city) - 1;
      if (left === 0) this.#held.delete(city);
      else this.#held.set(city, left);
    };
  }
}
