import { hash, randomBytes } from 'node:crypto';

/**
 * Maps the city names of senders without a key to 256 lanes, each of which shares rates and turns. So a sender that invents names gets the rates, turns and memory
 * of 256 lanes at most, and no refusal shows whether a name is that of a city.
 */
export class SenderLanes {
  /** Keeps senders from finding out which names share a lane. */
  readonly #salt = randomBytes(16).toString('hex');

  /** One of 256. */
  of(city = ''): string {
    return hash('sha256', `${this.#salt}${city}`).slice(0, 2);
  }
}
