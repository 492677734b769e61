import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { Follower } from '../../configuration/config/follower.js';
import { Following } from '../../configuration/config/following.js';
import { isRecorded, pricesOf } from './prices.js';
import { UsageSyncRepository } from './usage-sync.repository.js';
import { zoneOf } from './zone.js';

const EVERY_MS = 2_000;

/** Follows what the files of cities say about counting what is used. Every worker does. */
@Injectable()
export class UsageSync implements OnApplicationBootstrap {
  readonly #follower: Follower = {
    table: 'usage_cities',
    what: 'what a city says of its usage',
    follow: (tx, { streamId }, { config }) =>
      this.repository.save(tx, streamId, {
        zone: zoneOf(config),
        recorded: isRecorded(config),
        prices: pricesOf(config),
      }),
  };

  constructor(
    private readonly repository: UsageSyncRepository,
    private readonly following: Following,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'prices', everyMs: EVERY_MS, work: (signal) => this.follow(signal) });
  }

  /** Answers how many cities were followed. */
  follow(signal?: AbortSignal): Promise<number> {
    return this.following.rareTurn(this.#follower, signal);
  }
}
