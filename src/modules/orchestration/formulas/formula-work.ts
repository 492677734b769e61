import { Injectable } from '@nestjs/common';
import type { Task } from '../../../platform/threads/task.js';
import { TooDear } from '../../../platform/threads/thread.js';
import { Threads } from '../../../platform/threads/threads.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { tooDear } from '../../configuration/config/refusals.js';
import { Outgrown } from './compile/limits.js';
import { shelfOf, shelving, type Asked } from './formula-tasks.js';
import type { ReadTexts, Shelf } from './stored-library.js';

/** What is done with formulas: what is little at once, the rest in a thread. */
@Injectable()
export class FormulaWork {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly threads: Threads,
  ) {}

  /**
   * @param texts answers texts by SHA-256: those that are stored, unless others are given
   * @throws ProblemError validation_failed when it takes too much, unavailable when others are in front
   */
  async run<I extends Asked, O>(
    city: Pick<CityScope, 'name' | 'streamId'>,
    task: Task<I, O>,
    { shelf, ...asked }: Omit<I, 'isSmall'> & Pick<Asked, 'shelf'>,
    texts: ReadTexts = (digests) => this.reads.texts(city, digests),
  ): Promise<O> {
    const plain = { ...asked, shelf: shelfOf(shelf) };
    try {
      return await task.work({ ...plain, isSmall: true } as unknown as I, (_name, digests) => texts(digests as readonly string[]));
    } catch (error) {
      if (!(error instanceof Outgrown)) throw error;
    }
    const input = { ...plain, isSmall: false } as unknown as I;
    return this.threads.run({ task, owner: city.name, input, answerers: { texts } }).catch((error: unknown) => {
      throw error instanceof TooDear ? tooDear('the formula', error) : error;
    });
  }

  /** The formulas of a city that was composed and is not stored. @throws as `run` */
  async shelf({ name }: Pick<CityScope, 'name'>, configText: string): Promise<Shelf> {
    return this.threads.runOrDo({ task: shelving, owner: name, input: configText }, configText.length).catch((error: unknown) => {
      throw error instanceof TooDear ? tooDear('the configuration', error) : error;
    });
  }
}
