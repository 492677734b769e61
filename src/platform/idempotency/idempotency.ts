import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { problem } from '../../contract/problems.js';
import type { Database } from '../database/database.js';
import type { Tx } from '../database/transactions.js';
import { bodyHash } from './canonical-json.js';
import { IdempotencyRepository, type KeyAddress } from './idempotency.repository.js';

/** One use of an Idempotency-Key: `scope` is the city's name, or '' at supervisor scope; `operation` the operation id. */
export interface IdempotencyRef extends KeyAddress {
  /** The request's decoded body. */
  readonly body: unknown;
}

export interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
}

const DEFAULT_HOLD_MS = 60_000;

/**
 * The idempotency room. It promises that a key has at most one effect in 24 hours, over any number of replicas and
 * crashes: the answer is stored in the transaction of the effect, and errors are never stored. A repeat gets the
 * stored answer member by member; a repeat with another body, or while the first still runs, is refused.
 *
 * @example
 * const answer = await idempotency.run(tx, key && { scope: city, operation: 'create-bead', key, body }, async () => ({ status: 201, body: await create(tx) }));
 */
@Injectable()
export class Idempotency {
  constructor(private readonly repository: IdempotencyRepository) {}

  /**
   * The stored answer, if there is one. Cheap: ask before any other work.
   *
   * @throws ProblemError idempotency_mismatch when the key was used with another body.
   */
  async lookup(db: Kysely<Database>, ref: IdempotencyRef): Promise<StoredAnswer | undefined> {
    const row = await this.repository.find(db, ref);
    if (row === undefined) return undefined;
    if (!row.body_hash.equals(bodyHash(ref.body))) {
      throw idempotencyMismatch();
    }
    return { status: row.status, body: row.body };
  }

  /**
   * Takes the key until the transaction ends and answers what is stored under it. `owner` passes its own hold.
   *
   * @throws ProblemError idempotency_in_flight when another request is working under the key, idempotency_mismatch as `lookup`.
   */
  async guard(tx: Tx, ref: IdempotencyRef, owner?: string): Promise<StoredAnswer | undefined> {
    if (!(await this.repository.tryLock(tx, ref))) {
      const stored = await this.lookup(tx, ref);
      if (stored === undefined) throw inFlight();
      return stored;
    }
    return this.#answered(tx, ref, owner);
  }

  /**
   * As `guard`, for who holds the key. Repeats take its lock for a moment to see that: they are waited for, or a burst of them
   * would refuse the request that they repeat.
   */
  async regain(tx: Tx, ref: IdempotencyRef, owner: string): Promise<StoredAnswer | undefined> {
    await this.repository.lock(tx, ref);
    return this.#answered(tx, ref, owner);
  }

  async #answered(tx: Tx, ref: IdempotencyRef, owner: string | undefined): Promise<StoredAnswer | undefined> {
    const stored = await this.lookup(tx, ref);
    if (stored !== undefined) return stored;
    const holder = await this.repository.holder(tx, ref);
    if (holder !== undefined && holder !== owner) throw inFlight();
    return undefined;
  }

  /** Stores the answer in the transaction of the effect and ends a hold on the key. Call after `guard`. */
  async store(tx: Tx, ref: IdempotencyRef, answer: StoredAnswer): Promise<void> {
    if (!(await this.repository.store(tx, ref, bodyHash(ref.body), answer.status, answer.body))) throw inFlight();
    await this.repository.endHold(tx, ref);
  }

  /** Guard, work and store in the caller's transaction; without a reference only the work. */
  async run<B>(
    tx: Tx,
    ref: IdempotencyRef | undefined,
    work: () => Promise<{ status: number; body: B }>,
  ): Promise<{ status: number; body: B; replayed: boolean }> {
    if (ref === undefined || ref.key === '') return { ...(await work()), replayed: false };
    const stored = await this.guard(tx, ref);
    if (stored !== undefined) return { status: stored.status, body: stored.body as B, replayed: true };
    const answer = await work();
    await this.store(tx, ref, answer);
    return { ...answer, replayed: false };
  }

  /**
   * For an effect that spans transactions: guards, then holds the key for `owner` beyond this transaction, at most
   * `ms`. Where parts of the effect count each for itself, the transaction of each calls `keep`, and who holds the key next goes on behind `kept`. The
   * transaction of the whole, or of the last of it, calls `regain` and `store`; a failed effect calls `release`.
   */
  async hold(tx: Tx, ref: IdempotencyRef, owner: string, ms = DEFAULT_HOLD_MS): Promise<StoredAnswer | undefined> {
    const stored = await this.guard(tx, ref, owner);
    if (stored === undefined) await this.repository.hold(tx, ref, owner, bodyHash(ref.body), ms);
    return stored;
  }

  /** What the same request has come to under the key, as `keep` was told last, for a day; undefined when that is nothing. Call after `hold`. */
  async kept(tx: Tx, ref: IdempotencyRef): Promise<unknown> {
    return this.repository.progress(tx, ref);
  }

  /**
   * Keeps what the effect has come to with this transaction, and holds the key for another `ms`. Repeats that look at the key do not get in its way.
   *
   * @throws ProblemError idempotency_in_flight when the hold has run out and another has the key: then this part must not count
   */
  async keep(tx: Tx, ref: IdempotencyRef, owner: string, progress: unknown, ms = DEFAULT_HOLD_MS): Promise<void> {
    if (!(await this.repository.keep(tx, ref, owner, progress, ms))) throw inFlight();
  }

  /**
   * Who has held the key last without an answer, also after the time of that hold: a holder that died may have left
   * something that is still to be cleaned up.
   */
  async lastHolder(db: Kysely<Database>, ref: IdempotencyRef): Promise<string | undefined> {
    return this.repository.lastHolder(db, ref);
  }

  /** Gives the key back without an answer. What was kept stays for who repeats the request. */
  async release(tx: Tx, ref: IdempotencyRef, owner: string): Promise<void> {
    await this.repository.release(tx, ref, owner);
  }

  /** Makes the key as if it had never been used: what it has made is gone. */
  async forget(tx: Tx, at: KeyAddress): Promise<void> {
    await this.repository.forget(tx, at);
  }

  /** Deletes answers older than 24 hours, up to `limit`. Returns how many. */
  async purge(tx: Tx, limit: number): Promise<number> {
    return this.repository.purge(tx, limit);
  }
}

export function inFlight(): Error {
  return problem('idempotency_in_flight', 'request with this Idempotency-Key is already in progress');
}

/** The key belongs to another request. */
export function idempotencyMismatch(): Error {
  return problem('idempotency_mismatch', 'Idempotency-Key reused with different request body', { at: 'header.Idempotency-Key' });
}
