import { Injectable } from '@nestjs/common';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Firings } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import type { FiringRow } from './order-rows.js';

const BATCH = 100;
/** What may be done twice is begun this often before it is given up. */
const ATTEMPTS = 3;

/** Takes back what died workers were carrying out. */
@Injectable()
export class OrderSweeper {
  constructor(
    private readonly repository: FiringsRepository,
    private readonly firings: Firings,
    private readonly log: AppLogger,
  ) {}

  /** Ends the firings whose leases have run out as `lost`; those that may be done twice go to another worker. Answers how many. */
  async sweep(): Promise<number> {
    const alone = { failed: 'a lost firing could not be taken back', about: ({ id: firing }: FiringRow) => ({ firing }) };
    return eachAlone(await this.repository.expired(BATCH), this.log, alone, (firing) => this.#takeBack(firing));
  }

  async #takeBack(firing: FiringRow): Promise<boolean> {
    const city = { name: (await this.repository.stream(firing.stream_id)) ?? '', streamId: firing.stream_id };
    // A launch is a transaction: what was not told to have happened has not.
    const { idempotent, formula } = firing.definition;
    const again = firing.attempts < ATTEMPTS && (firing.state === 'checking' || idempotent || formula !== undefined);
    if (again) return this.firings.giveBack(city, firing, undefined);
    if (firing.state === 'checking') {
      await this.firings.refused(city, firing, undefined, 'condition: the host of the check was lost');
      return true;
    }
    const error = `the worker ${firing.worker ?? ''} that ran the command was lost`;
    return this.firings.end(city, firing, undefined, { outcome: 'lost', error });
  }
}
