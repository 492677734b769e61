import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import type { Expected } from '../../../platform/http/if-match.js';
import { RunnerWallsService } from '../../hosts/runner-list/runner-walls.service.js';
import { ConfigEditsService, type EditAnswer } from './config-edits.service.js';
import { ConfigReadsService, type Read } from './config-reads.service.js';
import { ConfigReloadsService } from './config-reloads.service.js';
import type { ConfigReloadBody, ConfigUpdateInputBody } from './config.schemas.js';
import { CITY_FILE, isTable } from './documents.js';
import { fieldsOf, summaryOf } from './refusals.js';

const KEYS_SHOWN = 100;

/** What people ask for beyond reading. */
@Injectable()
export class ConfigRequestsService {
  constructor(
    private readonly reloads: ConfigReloadsService,
    private readonly reads: ConfigReadsService,
    private readonly edits: ConfigEditsService,
    private readonly walls: RunnerWallsService,
  ) {}

  /** Changes what holds for the whole city, in city.toml. */
  update(city: CityScope, caller: Principal, expected: Expected, { network }: ConfigUpdateInputBody): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      await draft.edit(CITY_FILE, (document) => {
        if (!Object.hasOwn(document, 'workspace')) document.workspace = {};
        if (!isTable(document.workspace)) throw problem('wrong_state', 'workspace is no table in city.toml; mend it first');
        document.workspace.network = network;
      });
      return { body: { status: 'updated', ...(await this.walls.warningOf(network)) } };
    });
  }

  /** @throws ProblemError validation_failed naming everything that is wrong with the files */
  async reload(city: CityScope, caller: Principal): Promise<Read<ConfigReloadBody>> {
    const done = await this.reloads.reload(city, 'reload', caller.actor);
    if ('errors' in done) {
      throw problem('validation_failed', `the files cannot be used: ${summaryOf(done.errors)}`, { errors: fieldsOf(done.errors) });
    }
    const { revision, changed, keys, total, warnings } = done;
    const { index } = await this.reads.current(city);
    const body = {
      outcome: changed ? ('applied' as const) : ('no_change' as const),
      revision,
      changed: keys.slice(0, KEYS_SHOWN),
      changed_total: total,
      warnings: [...warnings],
    };
    return { body, revision, index };
  }
}
