import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { LeasedWork, type Held } from '../../sessions/launch/leased-work.js';
import type { Places } from '../../sessions/launch/places.js';
import { CITY_STOPPED, Cycle } from './cycle.js';
import { MAINTENANCE_TOPIC, type CycleRow } from './cycle-row.js';
import { Cycles } from './cycles.service.js';
import { CyclesRepository } from './cycles.repository.js';
import { MaintenanceTimings } from './maintenance-timings.js';

/** Carries cycles out in this process, what waits longest first. */
@Injectable()
export class CycleRunner implements OnApplicationBootstrap {
  readonly #leased: LeasedWork<CycleRow>;

  constructor(
    private readonly config: AppConfig,
    private readonly repository: CyclesRepository,
    private readonly cycles: Cycles,
    private readonly cycle: Cycle,
    private readonly transactions: Transactions,
    private readonly timings: MaintenanceTimings,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly failpoints: Failpoints,
    log: AppLogger,
  ) {
    const source = {
      name: 'cycles of maintenance',
      topic: MAINTENANCE_TOPIC,
      due: repository.isDue,
      claim: ({ room }: Places) => this.transactions.run((tx) => this.repository.claim(tx, this.worker, room, this.timings.leaseMs)),
      renew: (pks: readonly number[]) => this.repository.renew(this.worker, pks, this.timings.leaseMs),
      carryOut: (held: Held<CycleRow>) => this.#carryOut(held),
    };
    this.#leased = new LeasedWork(source, timings, log);
  }

  get worker(): string {
    return this.config.processId;
  }

  onApplicationBootstrap(): void {
    this.#leased.begin(this.signals, this.due, this.lifecycle);
  }

  async #carryOut(held: Held<CycleRow>): Promise<void> {
    const { row: cycle, signal } = held;
    await this.failpoints.hit('maintenance.begun');
    const city = await this.repository.city(cycle.stream_id);
    if (city?.running !== true) {
      await this.cycles.end(cycle, this.worker, { stage: 'prune', error: CITY_STOPPED });
      return;
    }
    const { id, name, path } = city;
    const end = await this.cycle.carryOut(cycle, this.worker, { id, name, path, stream: name, streamId: cycle.stream_id }, signal);
    await this.failpoints.hit('maintenance.before_end');
    if (end !== undefined) await this.#leased.persist(held, () => this.cycles.end(cycle, this.worker, end));
    // This process stops: another one goes on. What is another's already stays so.
    else if (signal.aborted && !held.lost) await this.#giveBack(cycle.pk);
  }

  #giveBack(pk: number): Promise<void> {
    return this.transactions.run(async (tx) => {
      if (await this.repository.giveBack(tx, pk, this.worker)) this.signals.mark(tx, MAINTENANCE_TOPIC);
    });
  }
}
