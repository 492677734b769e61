import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MailArchived } from '../../../contract/events/mail.events.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { event } from '../../../platform/event-log/event.js';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { inBatches } from '../../../platform/time/in-batches.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WorkService } from '../work/work.service.js';
import { MailRetentionRepository } from './mail-retention.repository.js';
import { MailSync } from './mail-sync.js';

const EVERY_MS = 5 * 60_000;
/** Of one city in one transaction: its other writers wait meanwhile. */
const SWEEP_MESSAGES = 500;
const PURGE_MESSAGES = 1_000;

/** Archives mail that has been read long ago, unread mail where the city asks for it, and forgets what was archived long ago. */
@Injectable()
export class MailRetention implements OnApplicationBootstrap {
  constructor(
    private readonly work: WorkService,
    private readonly transactions: Transactions,
    private readonly repository: MailRetentionRepository,
    private readonly sync: MailSync,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'mail retention', everyMs: EVERY_MS, work: (signal) => this.pass(signal) });
  }

  /** One pass over every city; one that fails does not keep the others waiting. */
  async pass(signal?: AbortSignal): Promise<void> {
    while (signal?.aborted !== true && (await this.sync.follow(signal)) > 0);
    const alone = { failed: 'mail could not be swept', about: ({ name: city }: CityScope) => ({ city }), signal };
    await eachAlone(await this.repository.due(), this.log, alone, async (city) => {
      await inBatches(SWEEP_MESSAGES, () => this.sweep(city), signal);
      return true;
    });
    await inBatches(PURGE_MESSAGES, () => this.purge(), signal);
  }

  /** Archives some of what is due in a city. Returns how many messages. @throws ProblemError as `WorkService.run`. */
  async sweep(city: CityScope): Promise<number> {
    const { value } = await this.work.run(city, 'reconciler', async (work) => {
      const swept = await this.repository.sweep(work.tx, city.streamId, SWEEP_MESSAGES);
      for (const { id, rig, read } of swept)
        work.emit(
          event(MailArchived, {
            stream: city.stream,
            actor: work.actor,
            subject: id,
            message: `${read ? 'read' : 'unread'} mail past its retention`,
            payload: { rig: rig || city.name },
          }),
        );
      return swept.length;
    });
    return value;
  }

  purge(): Promise<number> {
    return this.transactions.run((tx) => this.repository.purge(tx, PURGE_MESSAGES));
  }
}
