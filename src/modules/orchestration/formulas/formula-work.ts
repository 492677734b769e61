import { Injectable } from '@nestjs/common';
import type { Task } from '../../../platform/threads/task.js';
import { TooDear } from '../../../platform/threads/thread.js';
import { Threads } from '../../../platform/threads/threads.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { tooDear } from '../../configuration/config/refusals.js';
import { Outgrown } from './compile/limits.js';
import type { Asked } from './formula-tasks.js';

/** What is done with formulas: what is little at once, the rest in a thread. */
@Injectable()
export class FormulaWork {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly threads: Threads,
  ) {}

  /** @throws ProblemError validation_failed when it takes too much, unavailable when others are in front */
  async run<I extends Asked, O>(
    city: Pick<CityScope, 'name' | 'streamId'>,
    task: Task<I, O>,
    { shelf, ...asked }: Omit<I, 'isSmall'> & Pick<Asked, 'shelf'>,
  ): Promise<O> {
    const { formulas, formula_folders, contents } = shelf;
    const plain = { ...asked, shelf: { formulas, contents, ...(formula_folders === undefined ? {} : { formula_folders }) } };
    const texts = (digests: readonly string[]): Promise<Map<string, string>> => this.reads.texts(city, digests);
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
}
