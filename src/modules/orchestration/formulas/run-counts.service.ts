import { Injectable } from '@nestjs/common';
import { RunCountsRepository } from './run-counts.repository.js';

/** How often the formulas of a place have been run. */
@Injectable()
export class RunCountsService {
  constructor(private readonly repository: RunCountsRepository) {}

  /** Of one formula, or of all that have been run there. */
  byFormula(streamId: number, rig: string, formula?: string): Promise<ReadonlyMap<string, number>> {
    return this.repository.byFormula(streamId, rig, formula);
  }
}
