import { Injectable } from '@nestjs/common';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Work } from '../../work/work/work.js';
import { WorkService } from '../../work/work/work.service.js';
import { RunsRepository } from './runs.repository.js';

/** Beads of a step, for which whoever else writes in the city waits. */
const STEP = 200;

/** What a step has come to: there is more of the run, it is gone, or it stays as it is. */
export type RemovalStep = 'more' | 'gone' | 'kept';

/** Removes runs that ended long ago, with all their beads. */
@Injectable()
export class RunRetention {
  /** A test sets a smaller one. */
  step = STEP;

  constructor(
    private readonly repository: RunsRepository,
    private readonly work: WorkService,
  ) {}

  /** Runs of a city that ended so long ago, the longest first. */
  due({ streamId }: CityScope, olderMs: number, limit: number): Promise<string[]> {
    return this.repository.endedBefore(streamId, olderMs, limit);
  }

  /**
   * Removes the next beads of a run, the latest first, as others may depend on what is before them; its root goes with the last of them, and the
   * run with it. Where many others depend on them, some of those lose their edges first. Until then the run is as
   * old as it was: whoever is stopped in between leaves it to the next. One that somebody has opened a bead of again stays, with what is left of it.
   *
   * @throws ProblemError as `WorkService.run`
   */
  async removeStep(city: CityScope, id: string, actor: string): Promise<RemovalStep> {
    const { value } = await this.work.run(city, actor, async (work): Promise<RemovalStep> => {
      const { tx } = work;
      const { streamId } = city;
      const run = await this.repository.find(tx, streamId, id);
      if (run === undefined || run.outcome === null) return 'kept';
      if (await this.#isWorkedOn(work, id)) return 'kept';
      const last = await this.repository.lastMembers(tx, streamId, id, this.step);
      const whole = last.length < this.step;
      const beads = whole ? [...last, id] : last;
      const few = await work.bereaveSome(beads);
      if (few) await work.removeAll(beads);
      if (!few || !whole) {
        await this.repository.setUpdatedAt(tx, streamId, id, run.updated_at);
        return 'more';
      }
      await this.repository.remove(tx, streamId, id);
      return 'gone';
    });
    return value;
  }

  /** Somebody has opened a bead of it again. */
  async #isWorkedOn(work: Work, id: string): Promise<boolean> {
    const root = await work.find(id);
    if (root !== undefined && root.status !== 'closed') return true;
    return (await this.repository.members(work.tx, work.city.streamId, id, { open: true })).length > 0;
  }
}
