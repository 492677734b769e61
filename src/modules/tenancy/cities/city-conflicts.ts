import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { maySee, type Principal } from '../../../contract/principal.js';
import { ProblemError, problem } from '../../../contract/problems.js';
import type { AsyncAcceptedResponse } from '../../../contract/scalars.js';
import { Db, type Database } from '../../../platform/database/database.js';
import { violatedConstraint } from '../../../platform/database/pg-errors.js';
import { PREPARES, Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Idempotency, inFlight, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { Operations } from '../../../platform/operations/operations.js';
import { DirectoriesService, type Claimant, type Former } from '../../files/directories/directories.service.js';
import { notYours } from '../../files/directories/not-yours.js';
import { CitiesRepository } from './cities.repository.js';
import { ReservationsRepository } from './reservations.repository.js';

const CONSTRAINTS = new Set(['cities_name_key', 'cities_dir_key', 'city_reservations_dir_pkey', 'city_reservations_name_key']);

/** What goes on for a name that no city has: one is about to be there, or has just ended. */
const OF_NO_CITY = new Set(['city.create', 'city.register', 'city.unregister']);

/** Who else has a name or a directory, or is about to have it. The unique constraints decide races; this finds the words. */
@Injectable()
export class CityConflicts {
  constructor(
    private readonly cities: CitiesRepository,
    private readonly reservations: ReservationsRepository,
    private readonly directories: DirectoriesService,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
    private readonly transactions: Transactions,
    private readonly db: Db,
  ) {}

  /**
   * Before anything is written.
   *
   * @throws ProblemError wrong_state, operation_in_progress or conflict when name or directory are not free, forbidden when they
   * belong to a city that the caller may not see
   */
  async check(name: string, dir: string, caller: Principal): Promise<Former> {
    if (!maySee(caller, name)) throw notYours();
    await this.#check(this.db, name, dir, caller);
    const former = await this.directories.free(dir, claimantOf(name, caller));
    await this.#checkEnded(this.db, former, dir);
    return former;
  }

  /** `check` again, and until the transaction ends the answer holds. */
  async reserve(tx: Tx, name: string, dir: string, caller: Principal, former: Former): Promise<void> {
    await this.directories.reserve(tx, dir, claimantOf(name, caller), former);
    await this.#check(tx, name, dir, caller);
    await this.#checkEnded(tx, former, dir);
  }

  /** That nobody is scaffolding there. */
  async checkReservations(name: string, dir: string, db: Kysely<Database> = this.db): Promise<void> {
    const reserved = await this.reservations.dirsOfEither(db, name, dir);
    if (reserved.includes(dir)) throw inProgress('city.create', dir);
    if (reserved.length > 0) throw problem('conflict', `city name already taken: ${name}`);
  }

  async #check(db: Kysely<Database>, name: string, dir: string, caller: Principal): Promise<void> {
    const taken = await this.cities.findByEither(db, name, dir);
    const there = taken.find((city) => city.dir === dir);
    if (there !== undefined) {
      if (!maySee(caller, there.name)) throw notYours();
      const pending = await this.operations.unfinished(db, there.name);
      throw pending === undefined ? problem('wrong_state', `city already initialized at ${dir}`) : inProgress(pending.kind, dir);
    }
    if (taken.length > 0) throw problem('conflict', `city name already taken: ${name}`);
    const pending = await this.operations.unfinished(db, name);
    if (pending === undefined) return;
    // Anything else is done for a city that is there: it was made between the two looks.
    if (!OF_NO_CITY.has(pending.kind)) throw problem('conflict', `city name already taken: ${name}`);
    throw inProgress(pending.kind, dir);
  }

  /** What is unregistered may still have processes in its directory. */
  async #checkEnded(db: Kysely<Database>, { cities }: Former, dir: string): Promise<void> {
    for (const city of cities) {
      const pending = await this.operations.unfinished(db, city);
      if (pending !== undefined) throw inProgress(pending.kind, dir);
    }
  }

  /**
   * What a request with a key hears instead of a conflict with its own first try: the stored answer, or that the
   * first try is still at work, or has died at it and is cleaned up after. Every other refusal is thrown again.
   */
  async ownAnswer(refusal: unknown, ref: IdempotencyRef | undefined): Promise<AsyncAcceptedResponse> {
    if (ref === undefined || !(refusal instanceof ProblemError) || refusal.kind.status !== 409) throw refusal;
    const stored = await this.transactions.run((tx) => this.idempotency.guard(tx, ref), PREPARES);
    if (stored === undefined) {
      // Its first try died, and its directory is not cleaned up yet.
      const owner = await this.idempotency.lastHolder(this.db, ref);
      throw owner !== undefined && (await this.reservations.has(this.db, owner)) ? inFlight() : refusal;
    }
    return stored.body as AsyncAcceptedResponse;
  }

  /** Runs `work`; when it loses a race for the name or the directory, says so as a request would have heard it a moment later. */
  async explain<T>(name: string, dir: string, caller: Principal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === undefined || !CONSTRAINTS.has(constraint)) throw error;
      await this.check(name, dir, caller);
      throw constraint.endsWith('_name_key') ? problem('conflict', `city name already taken: ${name}`) : inProgress('city.create', dir);
    }
  }
}

function claimantOf(city: string, { cities }: Principal): Claimant {
  return { city, sees: cities };
}

function inProgress(kind: string, dir: string): Error {
  const what = kind === 'city.create' ? 'initialization' : 'operation';
  return problem('operation_in_progress', `city ${what} already in progress at ${dir}`);
}
