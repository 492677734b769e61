export interface ShareLimits {
  /** Places in all. */
  readonly places: number;
  /** How many of them one city may have that is alone. */
  readonly perCity: number;
}

/**
 * Who has how many of a number of places. A city may have one more as long as what it has and what is free stand to each other as
 * its ceiling and the rest: the fuller it gets, the less each may have, so that a city without any finds one, however many others
 * are greedy.
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
