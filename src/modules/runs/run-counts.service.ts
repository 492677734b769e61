import { Injectable } from '@nestjs/common';
import { RunReadsRepository } from './run-reads.repository.js';

/** How often the formulas of a place have been run. */
@Injectable()
export class RunCountsService {
  constructor(private readonly repository: RunReadsRepository) {}

  byFormula(streamId: number, rig: string): Promise<ReadonlyMap<string, number>> {
    return this.repository.countsByFormula(streamId, rig);
  }
}
