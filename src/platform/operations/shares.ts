export interface ShareLimits {
  /** Places in all. */
  readonly places: number;
  /** How many of them one city may have at the most. */
  readonly perCity: number;
  /** A city may have one more while it has fewer than this times what is free. */
  readonly perFree: number;
}

/**
 * Who has how many of a number of places. A city may have one more while it has fewer than its ceiling, and fewer than a multiple
 * of what is free: the fuller it gets, the less each may have, so that a city without any finds one, however many others are greedy.
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

  admits(city: City): boolean {
    const { places, perCity, perFree } = this.limits;
    return (this.#held.get(city) ?? 0) < Math.min(perCity, perFree * (places - this.#taken));
  }

  /** Takes a place, whatever the limits say. Call the result once to give it back. */
  take(city: City): () => void {
    this.#taken++;
    this.#held.set(city, (this.#held.get(city) ?? 0) + 1);
    return () => {
      this.#taken--;
      const left = this.#held.get(city)! - 1;
      if (left === 0) this.#held.delete(city);
      else this.#held.set(city, left);
    };
  }
}
