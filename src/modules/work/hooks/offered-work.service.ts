import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { OfferedWorkRepository, type AssignedRow, type Claimants, type OfferedRow } from './offered-work.repository.js';

export type { AssignedRow, Claimants, OfferedRow } from './offered-work.repository.js';

/** Beyond this many beads a city's demand is as large as it can matter. */
const LIMIT = 5_000;
/** With fewer of them a city has no need of shares, which take 1.3 ms more to ask for. */
const SHARED = 1_000;

/** The demand for sessions: what a claim would be given, by the very predicates that decide claims. */
@Injectable()
export class OfferedWork {
  constructor(private readonly repository: OfferedWorkRepository) {}

  /** What nobody has taken, by route, oldest first. */
  async offered(streamId: number, of: Claimants, db?: Kysely<Database>): Promise<OfferedRow[]> {
    const all = await this.repository.offered(streamId, SHARED, db);
    return all.length < SHARED ? all : this.repository.offeredTo(streamId, of, LIMIT, db);
  }

  /** What is assigned and not closed, begun or ready to be. */
  async assigned(streamId: number, of: Claimants, db?: Kysely<Database>): Promise<AssignedRow[]> {
    const all = await this.repository.assigned(streamId, SHARED, db);
    return all.length < SHARED ? all : this.repository.assignedTo(streamId, of, LIMIT, db);
  }

  /** When a deferred bead comes up next. */
  nextDeferred(streamId: number, db?: Kysely<Database>): Promise<Date | undefined> {
    return this.repository.nextDeferred(streamId, db);
  }
}
