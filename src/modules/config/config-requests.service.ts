import { Injectable } from '@nestjs/common';
import type { Principal } from '../../contract/principal.js';
import { problem } from '../../contract/problems.js';
import type { CityScope } from '../cities/city-scope.js';
import { ConfigReadsService, type Read } from './config-reads.service.js';
import { ConfigReloadsService } from './config-reloads.service.js';
import type { ConfigReloadBody } from './config.schemas.js';
import { fieldsOf, summaryOf } from './refusals.js';

const KEYS_SHOWN = 100;

/** What people ask for beyond reading. */
@Injectable()
export class ConfigRequestsService {
  constructor(
    private readonly reloads: ConfigReloadsService,
    private readonly reads: ConfigReadsService,
  ) {}

  /** @throws ProblemError validation_failed naming everything that is wrong with the files */
  async reload(city: CityScope, caller: Principal): Promise<Read<ConfigReloadBody>> {
    const done = await this.reloads.reload(city, 'reload', caller.actor);
    if ('errors' in done) {
      throw problem('validation_failed', `the files cannot be used: ${summaryOf(done.errors)}`, { errors: fieldsOf(done.errors) });
    }
    const { revision, changed, keys, warnings } = done;
    const { index } = await this.reads.current(city);
    const body = {
      outcome: changed ? ('applied' as const) : ('no_change' as const),
      revision,
      changed: keys.slice(0, KEYS_SHOWN),
      changed_total: keys.length,
      warnings: [...warnings],
    };
    return { body, revision, index };
  }
}
