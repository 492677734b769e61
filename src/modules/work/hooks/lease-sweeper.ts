import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BeadDeadAssigneeReopened } from '../../../contract/events/beads.events.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { event } from '../../../platform/event-log/event.js';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { BeadRecord } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { WorkService } from '../work/work.service.js';
import { LeaseRepository } from './lease.repository.js';

const EVERY_MS = 1_000;
/** Small, since the city's writers wait for a batch. */
const BATCH = 100;

/**
 * Takes beads back from owners whose lease has ended. Every worker runs one: who comes second to a city's work finds
 * nothing left, so each ended lease is taken back and reported once. Cities that do not run keep theirs until they do, and so do sessions
 * that have a process.
 */
@Injectable()
export class LeaseSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly repository: LeaseRepository,
    private readonly work: WorkService,
    private readonly due: DuePoller,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'ended leases', everyMs: EVERY_MS, due: this.repository.isDue, work: (signal) => this.sweep(signal) });
  }

  /** Takes back every lease that has ended by now. Returns how many. */
  async sweep(signal?: AbortSignal): Promise<number> {
    const alone = {
      failed: 'the ended leases of a city could not be taken back',
      about: ({ name: city }: CityScope) => ({ city }),
      signal,
    };
    return eachAlone(await this.repository.due(), this.log, alone, (city) => this.#sweepCity(city, signal));
  }

  async #sweepCity(city: CityScope, signal?: AbortSignal): Promise<number> {
    let taken = 0;
    for (;;) {
      if (signal?.aborted === true) return taken;
      const { value } = await this.work.run(city, 'reconciler', (work) => this.#takeBack(work));
      taken += value;
      if (value < BATCH) return taken;
    }
  }

  async #takeBack(work: Work): Promise<number> {
    await this.repository.extendLive(work.tx, work.city.streamId);
    const ended = await work.findAll(await this.repository.lockEnded(work.tx, work.city.streamId, BATCH));
    for (const bead of ended) {
      await work.update(bead.id, { status: 'open', assignee: null });
      work.emit(reopened(work, bead));
    }
    return ended.length;
  }
}

function reopened(work: Work, bead: BeadRecord): ReturnType<typeof event> {
  const owner = bead.assignee ?? '';
  const route = bead.metadata['gc.routed_to'];
  return event(BeadDeadAssigneeReopened, {
    ...work.facts(bead),
    message: `the lease of ${owner} ended; the bead is open again`,
    payload: { bead_id: bead.id, dead_assignee: owner, ...(route ? { routed_to: route } : {}) },
  });
}
