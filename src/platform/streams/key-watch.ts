import { Injectable } from '@nestjs/common';
import { problem, type ProblemError } from '../../contract/problems.js';
import { Slots } from '../collections/slots.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Signals } from './signals.js';
import { onTicks } from '../time/ticks.js';

const RECHECK_MS = 1_000;
/** Keys that are checked together. Tokens of sessions share a statement; 3,000 checked one after the other took longer than RECHECK_MS. */
const AT_ONCE = 500;

/** The topic of `Signals` under which keys are said to have changed. */
export const KEYS_TOPIC = 'keys';

/** The answer to a request whose key was revoked meanwhile. */
export const keyEnded = (): ProblemError =>
  problem('unauthorized', 'the API key is not valid any more', { headers: { 'www-authenticate': 'Bearer' } });

/** Checks whether a key is still good. */
export abstract class KeyValidity {
  abstract stillValid(keyId: string): boolean | Promise<boolean>;
}

/** Ends streams and blocking reads once their key is no longer good: when a signal says so, and at the latest with the next check. */
@Injectable()
export class KeyWatch {
  readonly #open = new Map<string, Slots<() => void>>();
  #isDue = false;
  #isLooking = false;

  constructor(
    private readonly keys: KeyValidity,
    signals: Signals,
    lifecycle: Lifecycle,
  ) {
    const forget = signals.onTopics((topics) => {
      if (topics === 'all' || topics.has(KEYS_TOPIC)) void this.#recheck();
    });
    const endTicks = onTicks(() => void this.#recheck(), RECHECK_MS);
    lifecycle.onStop('streams', 'key checks', () => {
      forget();
      endTicks();
    });
  }

  /** Calls `end` when the key is no longer good. Returns how to cancel that. */
  add(keyId: string | undefined, end: () => void): () => void {
    if (keyId === undefined) return () => undefined;
    let open = this.#open.get(keyId);
    if (open === undefined) this.#open.set(keyId, (open = new Slots()));
    const place = open.add(end);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      open.remove(place);
      if (open.size === 0) this.#open.delete(keyId);
    };
  }

  /** Runs one check at a time, so that a slow database gets no more of them. A call meanwhile has it repeated once. */
  async #recheck(): Promise<void> {
    this.#isDue = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#look();
    }
    this.#isLooking = false;
  }

  async #look(): Promise<void> {
    const all = [...this.#open];
    for (let n = 0; n < all.length; n += AT_ONCE) await Promise.all(all.slice(n, n + AT_ONCE).map((one) => this.#check(...one)));
  }

  async #check(keyId: string, open: Slots<() => void>): Promise<void> {
    // A database that does not answer ends no stream: these were let in.
    const valid = await Promise.resolve(this.keys.stillValid(keyId)).catch(() => true);
    if (!valid) for (const end of [...open]) end();
  }
}
