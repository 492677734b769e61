import { Injectable } from '@nestjs/common';
import { EmptyRunsService } from '../session-store/empty-runs.service.js';
import { startHash } from './start-hash.js';

/** Tells those who count runs that came to nothing what the next one would be started from. */
@Injectable()
export class StartsOfRuns {
  constructor(runs: EmptyRunsService) {
    runs.startsFrom(startHash);
  }
}
