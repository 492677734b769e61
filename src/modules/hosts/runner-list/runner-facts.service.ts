import { Injectable } from '@nestjs/common';
import type { Runner } from '../../../contract/runners.schemas.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { RunnerListRepository } from './runner-list.repository.js';
import { toRunner } from './runner-row.js';

/** Runners as lists show them, for whoever changes them. */
@Injectable()
export class RunnerFacts {
  constructor(private readonly repository: RunnerListRepository) {}

  /** As they are in this transaction, by id. */
  async of(tx: Tx, ids: readonly string[]): Promise<Runner[]> {
    return (await this.repository.byId(tx, ids)).map(toRunner);
  }
}
