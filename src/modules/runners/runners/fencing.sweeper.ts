import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { atOnce } from '../../../platform/time/at-once.js';
import { isPassing } from '../../sessions/launch/passing.js';
import { afterLoss } from './after-exit.js';
import { RunnerTimings } from './runner-timings.js';
import { RunnerRepository } from './runner.repository.js';
import { RunnerStates } from './runner-states.js';
import { SessionWorkRepository, type LostSession } from './session-work.repository.js';
import { SessionExits } from './session-exits.js';

const BATCH = 200;
const CITIES_AT_ONCE = 4;
/** A city of which so many could not be settled for a lock, or the database, is left to the next sweep. One session that somebody has locked leaves it the others. */
const MAX_BLOCKED = 2;
const PURGE_MS = 3_600_000;

/**
 * Gives up runners whose lease has run out and puts their sessions where they can be started again. Every worker does it: a
 * session is settled by whoever locks it first, and by nobody else after that.
 */
@Injectable()
export class FencingSweeper implements OnApplicationBootstrap {
  #purgedAt = -Infinity;

  constructor(
    private readonly db: Db,
    private readonly runners: RunnerRepository,
    private readonly states: RunnerStates,
    private readonly repository: SessionWorkRepository,
    private readonly exits: SessionExits,
    private readonly due: DuePoller,
    private readonly timings: RunnerTimings,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({
      name: 'lost runners',
      everyMs: this.timings.sweepMs,
      due: this.repository.isLost,
      work: (signal) => this.sweep(signal),
    });
  }

  /** Returns how many sessions were taken from runners that are gone. */
  async sweep(signal?: AbortSignal): Promise<number> {
    for (const id of await this.states.loseExpired()) this.log.warn({ runner: id }, 'a runner is lost; its sessions go to others');
    if (performance.now() - this.#purgedAt >= PURGE_MS) {
      this.#purgedAt = performance.now();
      await this.runners.purge(this.db);
    }
    return this.#settleAll(signal);
  }

  /** Each at most once, several cities at a time: what cannot be settled now holds up no others, and the sweep ends. */
  async #settleAll(signal: AbortSignal | undefined): Promise<number> {
    let taken = 0;
    const blocked = new Map<number, number>();
    const isLeft = (streamId: number): boolean => (blocked.get(streamId) ?? 0) >= MAX_BLOCKED;
    for (let after = 0; ;) {
      const except = [...blocked.keys()].filter(isLeft);
      const lost = await this.repository.ofGoneRunners(this.db, { after, except, limit: BATCH });
      const cities = Map.groupBy(lost, ({ city }) => city.streamId);
      await atOnce(CITIES_AT_ONCE, cities, async ([streamId, sessions]) => {
        for (const session of sessions) {
          if (signal?.aborted === true || isLeft(streamId)) return;
          try {
            if (await this.#settle(session)) taken++;
          } catch (error) {
            if (isPassing(error)) blocked.set(streamId, (blocked.get(streamId) ?? 0) + 1);
            this.log.warn(
              { err: error, session: session.pk },
              'a session of a lost runner could not be taken back; the next turn tries again',
            );
          }
        }
      });
      if (lost.length < BATCH || signal?.aborted === true) return taken;
      after = lost.at(-1)!.pk;
    }
  }

  async #settle(session: LostSession): Promise<boolean> {
    const settled = await this.exits.settle(session.city, session, { decide: (row, facts) => afterLoss(row, facts) });
    return settled !== undefined;
  }
}
