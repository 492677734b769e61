import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { takeBack } from './rig-cloning.js';
import { RigProvisionsRepository, type Provision } from './rig-provisions.repository.js';

const TICK_MS = 5_000;
const BATCH = 10;
/** What cannot be removed now is tried again after this. */
const PAUSE_S = 60;
/** How long a client may ask what became of its request. */
const KEEP_S = 30 * 24 * 3600;

/** Removes what clones left on disk whose operation was ended from outside. */
@Injectable()
export class RigLeftoversSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly provisions: RigProvisionsRepository,
    private readonly transactions: Transactions,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'leftovers of rigs', everyMs: TICK_MS, due: this.provisions.isDue, work: () => this.sweep() });
  }

  async sweep(): Promise<number> {
    const left = await this.transactions.run(async (tx) => {
      await this.provisions.purge(tx, KEEP_S, BATCH);
      return this.provisions.takeLeftovers(tx, BATCH, PAUSE_S);
    });
    for (const provision of left) await this.#remove(provision);
    return left.length;
  }

  async #remove({ operationId, name, dir, manifest }: Provision): Promise<void> {
    try {
      await takeBack(dir, operationId, manifest);
      await this.transactions.run((tx) => this.provisions.forgetLeftovers(tx, operationId));
      this.log.info({ rig: name, dir }, 'what a failed clone left was removed');
    } catch (error) {
      this.log.warn({ err: error, rig: name, dir }, 'what a failed clone left could not be removed');
    }
  }
}
