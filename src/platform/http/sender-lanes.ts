import { hash, randomBytes } from 'node:crypto';

/**
 * What senders without a key share: a lane for some of all names that a city may have. So whoever invents names has no more rates, turns or
 * memory than there are lanes, and whether a name is that of a city shows in none of them.
 */
export class SenderLanes {
  /** So that nobody can tell which names share a lane. */
  readonly #salt = randomBytes(16).toString('hex');

  /** One of 256. */
  of(city = ''): string {
    return hash('sha256', `${this.#salt}${city}`).slice(0, 2);
  }
}
