import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { Db } from '../database/database.js';
import { OperationRegistry } from './registry.js';
import { OperationClaimsRepository, type ClaimedRow } from './operation-claims.repository.js';
import { Shares } from '../turns/shares.js';
import { OperationTimings } from './timings.js';

/** An operation of this process, and how its city's place is given back. */
export interface Taken {
  readonly row: ClaimedRow;
  readonly leave: () => void;
}

/**
 * Chooses what this process runs next. Cities take turns (round robin). A city that runs nothing here comes before one that does, and none gets more
 * places than its share. The caller has a free place.
 */
@Injectable()
export class OperationClaims {
  readonly #shares: Shares<string>;
  /** The city that was served last. */
  #last = '';
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly config: AppConfig,
    private readonly repository: OperationClaimsRepository,
    private readonly registry: OperationRegistry,
    private readonly db: Db,
    private readonly timings: OperationTimings,
  ) {
    const { concurrency: places, perCity } = timings;
    this.#shares = new Shares({ places, perCity });
  }

  /** The next operation that waits. A fresh one is left to the queue for `pickupMs`. */
  next(pickupMs = 0): Promise<Taken | undefined> {
    return this.#inTurn(async () => {
      const { leaseMs } = this.timings;
      const { deadlines } = this.registry;
      const { holders: all, full: skip } = this.#shares;
      const holders = all.filter((city) => !skip.includes(city));
      const choice = { after: this.#last, holders, skip, leaseMs, pickupMs, deadlines };
      const row = await this.repository.claimNext(this.db, this.config.processId, choice);
      if (row !== undefined) this.#last = row.city;
      return row;
    });
  }

  /** An operation that has lost its worker. */
  lost(): Promise<Taken | undefined> {
    const { leaseMs } = this.timings;
    const { kinds } = this.registry;
    return this.#inTurn(() => this.repository.claimLost(this.db, this.config.processId, { skip: this.#shares.full, leaseMs, kinds }));
  }

  /** Makes one choice at a time: each has to count the places that the choice before it has taken. */
  async #inTurn(choose: () => Promise<ClaimedRow | undefined>): Promise<Taken | undefined> {
    const before = this.#turn;
    const chosen = before.then(choose).then((row) => row && { row, leave: this.#shares.take(row.city) });
    this.#turn = chosen.catch(() => undefined);
    return chosen;
  }
}
