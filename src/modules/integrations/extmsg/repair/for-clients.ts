import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Db } from '../../../../platform/database/database.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { repeat } from '../../../../platform/health/repeat.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { ForClientsRepository } from '../outbound/for-clients.repository.js';

const LOOKED_AT_EVERY_MS = 60_000;

/** Takes the marks of publications for clients away where they are wrong: an adapter may change while one is taken for it. Any number of workers may. */
@Injectable()
export class ForClients implements OnApplicationBootstrap {
  constructor(
    private readonly db: Db,
    private readonly repository: ForClientsRepository,
    private readonly timings: ExtmsgTimings,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const work = (signal: AbortSignal): Promise<void> => this.unmark(signal);
    repeat(this.lifecycle, this.log, { name: 'marks of publications for clients', everyMs: LOOKED_AT_EVERY_MS, work });
  }

  async unmark(signal?: AbortSignal): Promise<void> {
    await this.repository.offered(this.timings.offers);
    for (const pk of await this.repository.gone()) {
      if (signal?.aborted === true) return;
      await this.repository.leave(this.db, pk);
    }
  }
}
