import { Injectable } from '@nestjs/common';
import type { ConfigCause } from '../../../contract/events/config.events.js';
import { problem } from '../../../contract/problems.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { sleep } from '../../../platform/time/clock.js';
import type { Issue } from '../../files/composition/issue.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { Ledger } from '../../files/composition/trees/ledger.js';
import { CityComposer, type Composing } from './city-composer.js';
import { ConfigRevisionsService, type ConfiguredCity } from './config-revisions.service.js';
import type { ConfigStateRow } from './config.repository.js';

export interface ReloadableCity extends ConfiguredCity {
  readonly path: string;
}

export type Reloaded = { readonly ledger: Ledger } & (
  | {
      readonly revision: number;
      readonly changed: boolean;
      /** The first keys that differ, and how many do. */
      readonly keys: readonly string[];
      readonly total: number;
      readonly warnings: readonly string[];
    }
  | { readonly revision: number; readonly errors: readonly Issue[] }
);

const TRIES = 20;
const BETWEEN_MS = 100;

/**
 * Makes the files as they are now what the city runs. Composing takes a while and holds nothing; the commit believes it only
 * when nobody has changed files or revision meanwhile.
 */
@Injectable()
export class ConfigReloadsService {
  constructor(
    private readonly composer: CityComposer,
    private readonly revisions: ConfigRevisionsService,
    private readonly eventLog: EventLog,
    private readonly transactions: Transactions,
  ) {}

  /** @throws ProblemError unavailable when others keep changing the configuration, city_not_found when it runs elsewhere by now, or not at all */
  async reload(city: ReloadableCity, cause: ConfigCause, actor: string): Promise<Reloaded> {
    for (let n = 0; n < TRIES; n++) {
      const done = await this.tryReload(city, cause, actor);
      if (done !== undefined) return done;
      await sleep(BETWEEN_MS);
    }
    throw problem('unavailable', `the configuration of ${city.name} is being changed all the time; try again`);
  }

  /** As `reload`, once: undefined while somebody else is changing the configuration. @throws ProblemError city_not_found */
  async tryReload(city: ReloadableCity, cause: ConfigCause, actor: string): Promise<Reloaded | undefined> {
    const before = await this.revisions.state(city);
    if (before.editing) return undefined;
    return this.composer.compose(city, {}, (result) => this.#commit(city, { cause, actor, before }, result));
  }

  async #commit(
    city: ReloadableCity,
    { cause, actor, before }: { cause: ConfigCause; actor: string; before: ConfigStateRow },
    result: Composing,
  ): Promise<Reloaded | undefined> {
    const compared = 'errors' in result ? undefined : await this.revisions.compare(city, result.composed);
    return this.transactions.run(
      async (tx) => {
        const state = await this.revisions.lock(tx, city);
        if (!(await this.revisions.isStillAt(tx, city))) throw notRunning(city.name);
        if (state.editing || state.attempt !== before.attempt) return undefined;
        const { ledger } = result;
        if ('errors' in result) {
          await this.eventLog.append(tx, await this.revisions.reject(tx, city, state, result.errors, actor));
          return { revision: state.revision, errors: result.errors, ledger };
        }
        const commit = { cause, actor, compared, ledger };
        const { revision, changed, keys, total, events } = await this.revisions.commit(tx, city, state, result.composed, commit);
        await this.eventLog.append(tx, events);
        return { revision, changed, keys, total, warnings: result.composed.warnings, ledger };
      },
      { key: city.name },
    );
  }
}
