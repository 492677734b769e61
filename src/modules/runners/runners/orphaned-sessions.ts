import type { Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { afterLoss } from './after-exit.js';
import type { HeldSession } from './inbox.repository.js';
import type { RunnerLease } from './runner-lease.js';
import type { RunnerContext } from './runner-context.js';

/** Looks in which a session has to be nobody's before it is believed. */
const LOOKS = 3;

/**
 * Sessions that the database gives to this runner and that it knows nothing of: their claim was committed, but the answer
 * to it was lost, or their actor failed. They have no process here, so they are given back.
 */
export class OrphanedSessions {
  readonly #seen = new Map<string, number>();
  #claiming = 0;

  constructor(
    private readonly context: RunnerContext,
    private readonly db: Kysely<Database>,
  ) {}

  /** Claims are under way: what they take is known in a moment. */
  async while<T>(claiming: () => Promise<T>): Promise<T> {
    this.#claiming++;
    try {
      return await claiming();
    } finally {
      this.#claiming--;
    }
  }

  async settle(lease: RunnerLease, strays: readonly HeldSession[]): Promise<void> {
    if (this.#claiming > 0) return;
    const keys = new Set(strays.map(keyOf));
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
    for (const stray of strays) {
      const key = keyOf(stray);
      const looks = (this.#seen.get(key) ?? 0) + 1;
      this.#seen.set(key, looks);
      if (looks < LOOKS || !lease.held) continue;
      this.#seen.delete(key);
      const city = await this.context.repository.city(this.db, stray.streamId);
      await this.context.processes.end({ city: city.name, session: stray.id });
      const owned = { pk: stray.pk, generation: stray.generation, runnerId: lease.id };
      await this.context.exits.settle(city, owned, { decide: (row, facts) => afterLoss(row, facts) });
    }
  }
}

function keyOf({ pk, generation }: HeldSession): string {
  return `${pk}/${generation}`;
}
