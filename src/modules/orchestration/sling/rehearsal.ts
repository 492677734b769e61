import { Injectable } from '@nestjs/common';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WorkService, type Done, type WorkOptions } from '../../work/work/work.service.js';
import type { Work } from '../../work/work/work.js';
import type { SlingEvent } from './sling.schemas.js';
import { SlingRepository } from './sling.repository.js';

/** Carries what a rehearsal found out of the transaction that it undoes. */
class Undone extends Error {
  constructor(readonly done: Done<unknown>) {
    super('rehearsed');
  }
}

/** Runs work for real, or the very same work up to its commit: a dry run cannot promise anything else than what happens. */
@Injectable()
export class Rehearsal {
  constructor(
    private readonly work: WorkService,
    private readonly repository: SlingRepository,
  ) {}

  /** With `dry`, nothing that `body` writes stays; what it answers and refuses is the same. */
  async run<T>(
    city: CityScope,
    actor: string,
    dry: boolean,
    body: (work: Work) => Promise<T>,
    options: WorkOptions = {},
  ): Promise<Done<T>> {
    if (!dry) return this.work.run(city, actor, body, options);
    const undone = async (work: Work): Promise<never> => {
      const value = await body(work);
      throw new Undone({ value, index: await this.repository.head(work.tx, city.streamId) });
    };
    try {
      return await this.work.run(city, actor, undone, options);
    } catch (error) {
      if (error instanceof Undone) return error.done as Done<T>;
      throw error;
    }
  }
}

/** The events that the transaction appends when it commits. */
export function eventsOf(work: Work): SlingEvent[] {
  return work.events().map(({ type, subject }) => ({ type, subject: subject ?? '' }));
}
