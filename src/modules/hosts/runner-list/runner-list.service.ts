import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { ListBodyRunner } from '../../../contract/runners.schemas.js';
import { RunnerListRepository } from './runner-list.repository.js';
import { toRunner } from './runner-row.js';

const LISTED = 1_000;

@Injectable()
export class RunnerListService {
  constructor(private readonly repository: RunnerListRepository) {}

  /** @throws ProblemError forbidden for callers that are limited to cities: runners work for all of them. */
  async list(caller: Principal, all: boolean): Promise<ListBodyRunner> {
    if (caller.cities !== undefined) throw problem('forbidden', 'runners are listed for keys that are not limited to cities');
    const rows = await this.repository.list(all, LISTED);
    const items = rows.slice(0, LISTED).map(toRunner);
    return { items, total: items.length, ...(rows.length > LISTED ? { partial: true } : {}) };
  }
}
