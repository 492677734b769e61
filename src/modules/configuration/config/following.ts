import { Injectable, Optional } from '@nestjs/common';
import { preparing } from '../../../platform/turns/preparing.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { ConfigReadsService } from './config-reads.service.js';
import type { FollowedCity, Follower, FollowerTable, RunningFollower } from './follower.js';
import { FollowingRepository } from './following.repository.js';
import { MovedCities } from './moved-cities.js';

/** So many cities are followed in a turn: who follows has other things to do between them. */
export const AT_ONCE = 50;
/** Where nobody waits for it turns are rare, and one may have so many times as many: else what was made in a minute was followed for three. */
const RARE = 5;

/**
 * Follows what cities run, once a revision and follower: any worker does. Whatever makes a city run something else moves its event log, so
 * that a turn asks about the cities whose logs have moved, and about all of them now and then.
 */
@Injectable()
export class Following {
  /** Where the next turn of a follower begins that asks about all cities. */
  readonly #after = new Map<FollowerTable, number>();
  readonly #moved = new Map<FollowerTable, MovedCities>();

  constructor(
    private readonly repository: FollowingRepository,
    private readonly config: ConfigReadsService,
    private readonly transactions: Transactions,
    private readonly log: AppLogger,
    @Optional() private readonly signals?: Signals,
  ) {
    signals?.onStreams((names) => this.#moved.forEach((moved) => moved.add(names)));
  }

  /** A turn of who has one every few seconds, and nothing else to do. Answers how many cities were followed. */
  async rareTurn(follower: Follower, signal?: AbortSignal): Promise<number> {
    let all = 0;
    for (let n = 0; n < RARE; n++) {
      const followed = await this.turn(follower, signal);
      all += followed;
      if (followed < AT_ONCE / 2) break;
    }
    return all;
  }

  /** One turn. Answers how many cities were followed. */
  turn(follower: Follower | RunningFollower, signal?: AbortSignal): Promise<number> {
    return preparing(() => this.#turn(follower, signal));
  }

  async #turn(follower: Follower | RunningFollower, signal?: AbortSignal): Promise<number> {
    const alone = { failed: `${follower.what} could not be followed`, about: ({ name: city }: FollowedCity) => ({ city }), signal };
    return eachAlone(await this.#next(follower), this.log, alone, (city) => this.#followCity(follower, city));
  }

  async #next(follower: Follower | RunningFollower): Promise<FollowedCity[]> {
    let moved = this.#moved.get(follower.table);
    if (moved === undefined) this.#moved.set(follower.table, (moved = new MovedCities()));
    const names = this.signals?.reliable === true ? moved.take() : 'all';
    if (names === 'all') {
      const cities = await this.#ofAll(follower);
      if (cities.length === AT_ONCE) moved.add('all');
      return cities;
    }
    return names.length === 0 ? [] : this.#ask(follower, 0, names);
  }

  #ask(follower: Follower | RunningFollower, after: number, names?: readonly string[]): Promise<FollowedCity[]> {
    return 'gone' in follower
      ? this.repository.movedOrGone(follower.table, after, AT_ONCE, names)
      : this.repository.moved(follower.table, after, AT_ONCE, names);
  }

  /** When there are more than a turn has, the next one goes on behind them: those that cannot be followed keep no other from its turn. */
  async #ofAll(follower: Follower | RunningFollower): Promise<FollowedCity[]> {
    const cities = await this.#ask(follower, this.#after.get(follower.table) ?? 0);
    this.#after.set(follower.table, cities.length < AT_ONCE ? 0 : cities.at(-1)!.streamId);
    return cities;
  }

  /** False when somebody else does it, or has done it meanwhile. */
  async #followCity(follower: Follower | RunningFollower, city: FollowedCity): Promise<boolean> {
    const { table } = follower;
    const { streamId } = city;
    return this.transactions.run(
      async (tx) => {
        const noted = await this.repository.lock(tx, table, streamId);
        if (noted === undefined) return false;
        const running = 'gone' in follower ? noted.runs : undefined;
        if ('gone' in follower && running === null) {
          await this.repository.remove(tx, table, streamId);
          await follower.gone(tx, city);
          return true;
        }
        const current = await this.config.known(city, tx);
        if (current === undefined || (noted.revision === current.revision && noted.running === running)) return false;
        // Before what follows from it, whose events come last.
        if ('gone' in follower) await this.repository.saveRunning(tx, follower.table, streamId, current.revision, running!);
        else await this.repository.save(tx, table, streamId, current.revision);
        await follower.follow(tx, city, current, running === true);
        return true;
      },
      { key: city.name },
    );
  }
}
