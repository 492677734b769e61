import type { Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { givenBack } from './after-exit.js';
import { upTo } from './ports.js';
import type { RunnerLease } from './runner-lease.js';
import type { RunnerContext } from './runner-context.js';

/** A session that a runner holds, as the database has it, and that it knows nothing of. */
export interface Stray {
  readonly pk: number;
  readonly generation: number;
}

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

  async settle(lease: RunnerLease, strays: readonly Stray[]): Promise<void> {
    if (this.#claiming > 0) return;
    const keys = new Set(strays.map(keyOf));
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
    for (const stray of strays) {
      const key = keyOf(stray);
      const looks = (this.#seen.get(key) ?? 0) + 1;
      this.#seen.set(key, looks);
      if (looks < LOOKS || !lease.held) continue;
      this.#seen.delete(key);
      const place = await this.context.repository.placeOf(this.db, stray.pk);
      if (place === undefined) continue;
      await this.context.processes.end({ city: place.city.name, session: place.id }, upTo(stray.generation));
      const owned = { pk: stray.pk, generation: stray.generation, runnerId: lease.id };
      await this.context.exits.settle(place.city, owned, { decide: (row, facts) => givenBack(row, facts) });
    }
  }
}

function keyOf({ pk, generation }: Stray): string {
  return `${pk}/${generation}`;
}
