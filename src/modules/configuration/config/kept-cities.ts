import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { ConfigKeeperRepository, type KeptCity } from './config-keeper.repository.js';

/** A worker that has this many more than its share leaves them to others. */
const MORE = { least: 5, part: 0.1 };

/**
 * The cities whose files this worker looks after: as many as each of the living workers, so that what one leaves is divided among the others.
 * A look at all costs one statement that answers one row; which they are is only read when that has changed.
 */
@Injectable()
export class KeptCities {
  #which = '';
  #cities: readonly KeptCity[] = [];

  constructor(
    private readonly config: AppConfig,
    private readonly repository: ConfigKeeperRepository,
  ) {}

  /** Takes and leaves what is to be taken and left. Answers all that this worker has, the same list as before when those are the same. */
  async renew(): Promise<readonly KeptCity[]> {
    const { processId: keeper } = this.config;
    let shares = await this.repository.shares(keeper);
    if (shares.unknown > 0) await this.repository.know();
    const share = Math.ceil(shares.all / Math.max(1, shares.workers));
    const beyond = shares.own - share;
    if (shares.free > 0 && beyond < 0) await this.repository.take(keeper, -beyond);
    else if (beyond > Math.max(MORE.least, share * MORE.part)) await this.repository.leave(keeper, beyond);
    else if (shares.which === this.#which) return this.#cities;
    shares = await this.repository.shares(keeper);
    this.#which = shares.which;
    return (this.#cities = await this.repository.kept(keeper));
  }

  async release(): Promise<void> {
    await this.repository.release(this.config.processId);
  }
}
