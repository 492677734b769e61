import { Injectable } from '@nestjs/common';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WorkService } from '../../work/work/work.service.js';
import { RunsRepository } from './runs.repository.js';

/** Removes runs that ended long ago, each as a whole with all its beads. */
@Injectable()
export class RunRetention {
  constructor(
    private readonly repository: RunsRepository,
    private readonly work: WorkService,
  ) {}

  /** Runs of a city that ended so long ago, the longest first. */
  due({ streamId }: CityScope, olderMs: number, limit: number): Promise<string[]> {
    return this.repository.endedBefore(streamId, olderMs, limit);
  }

  /** False for one that somebody has opened a bead of again, and for one that is gone. @throws ProblemError as `WorkService.run` */
  async remove(city: CityScope, id: string, actor: string): Promise<boolean> {
    const { value } = await this.work.run(city, actor, async (work) => {
      const run = await this.repository.find(work.tx, city.streamId, id);
      if (run === undefined || run.outcome === null) return false;
      const beads = await work.findAll([id, ...(await this.repository.members(work.tx, city.streamId, id, { open: false }))]);
      if (beads.some(({ status }) => status !== 'closed')) return false;
      await work.removeAll(beads.map((bead) => bead.id));
      await this.repository.remove(work.tx, city.streamId, id);
      return true;
    });
    return value;
  }
}
