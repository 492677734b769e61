import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';
import { DueLooks } from '../../../platform/database/due-looks.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { afterLoss } from './after-exit.js';
import { RunnerTimings } from './runner-timings.js';
import { RunnerRepository } from './runner.repository.js';
import { RunnerStates } from './runner-states.js';
import { SessionWorkRepository } from './session-work.repository.js';
import { SessionExits } from './session-exits.js';

const BATCH = 200;
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
    private readonly due: DueLooks,
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
    let taken = 0;
    for (;;) {
      const lost = await this.repository.ofGoneRunners(this.db, BATCH);
      for (const session of lost) {
        if (signal?.aborted === true) return taken;
        try {
          const settled = await this.exits.settle(session.city, session, { decide: (row, facts) => afterLoss(row, facts) });
          if (settled !== undefined) taken++;
        } catch (error) {
          this.log.warn(
            { err: error, session: session.pk },
            'a session of a lost runner could not be taken back; the next turn tries again',
          );
        }
      }
      if (lost.length < BATCH) return taken;
    }
  }
}
