import { retrying } from '../../../platform/database/retrying.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import type { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { RUNNER_ACTOR } from './runner-actor.js';
import type { RunnerLease } from './runner-lease.js';
import type { Owned } from './session-exits.js';

/** The session is somebody else's by now: nothing was written, and nothing may be any more. */
export class Fenced extends Error {}

const MAX_RETRY_MS = 1_000;

/**
 * One process's right to write about its session. Every transaction checks under the row's lock that the runner still has
 * the session in this generation, so a runner that was paused past its lease changes nothing.
 */
export class OwnedSession {
  #fenced = false;

  constructor(
    readonly city: CityScope,
    readonly owned: Owned,
    readonly lease: RunnerLease,
    private readonly sessions: SessionChangesService,
  ) {}

  /** False once the session is known to be somebody else's, or the lease has run out. */
  get held(): boolean {
    return !this.#fenced && this.lease.held;
  }

  fence(): void {
    this.#fenced = true;
  }

  /**
   * Runs `body` on the locked row. Tries again while the database fails, so `body` has to be one that may find its own work done.
   *
   * @throws Fenced when the session is not this process's any more.
   */
  async change<T>(body: (changes: SessionChanges, row: SessionRow) => Promise<T>): Promise<T> {
    return this.trying(() =>
      this.sessions.runInAnyState(this.city, RUNNER_ACTOR, async (changes) => {
        const row = await changes.lock(this.owned.pk);
        if (row === undefined || row.runner_id !== this.owned.runnerId || row.generation !== this.owned.generation) throw this.#lost();
        const value = await body(changes, row);
        // A pause may have been long: what the lease does not cover any more is not committed.
        if (!this.held) throw this.#lost();
        return value;
      }),
    );
  }

  /** Again and again while the database fails and the lease holds. @throws Fenced */
  async trying<T>(work: () => Promise<T>): Promise<T> {
    const held = async (): Promise<T> => {
      if (!this.held) throw this.#lost();
      return work();
    };
    return retrying(held, { mostMs: MAX_RETRY_MS, signal: this.lease.signal });
  }

  #lost(): Fenced {
    this.#fenced = true;
    return new Fenced(`session ${this.owned.pk}, generation ${this.owned.generation}, is not run by ${this.owned.runnerId} any more`);
  }
}
