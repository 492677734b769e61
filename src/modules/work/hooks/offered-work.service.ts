import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { OfferedWorkRepository, type AssignedRow, type Claimants, type OfferedRow } from './offered-work.repository.js';

export type { AssignedRow, Claimants, OfferedRow } from './offered-work.repository.js';

/** Beyond this many beads a city's demand is as large as it can matter. */
const LIMIT = 5_000;

/** The demand for sessions: what a claim would be given, by the very predicates that decide claims. */
@Injectable()
export class OfferedWork {
  constructor(private readonly repository: OfferedWorkRepository) {}

  /** What nobody has taken, by route, oldest first. */
  offered(streamId: number, of: Claimants, db?: Kysely<Database>): Promise<OfferedRow[]> {
    return this.repository.offered(streamId, of, LIMIT, db);
  }

  /** What is assigned and not closed, begun or ready to be. */
  assigned(streamId: number, of: Claimants, db?: Kysely<Database>): Promise<AssignedRow[]> {
    return this.repository.assigned(streamId, of, LIMIT, db);
  }

  /** When a deferred bead comes up next. */
  nextDeferred(streamId: number, db?: Kysely<Database>): Promise<Date | undefined> {
    return this.repository.nextDeferred(streamId, db);
  }
}
