import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { blockersOf, type Blockers } from './effective-suspension.js';
import { otherAgent } from './template.js';

export type { Blockers } from './effective-suspension.js';

/** What keeps sessions from running although their city does. Asked by whoever wakes, starts or drains one. */
@Injectable()
export class EffectiveSuspension {
  constructor(
    private readonly roster: RosterService,
    private readonly config: ConfigReadsService,
  ) {}

  /**
   * What holds now, for any number of sessions of the city. `config` is the configuration that the caller has read anyway;
   * with `tx` switches are read in that transaction.
   */
  async blockers(city: Pick<CityScope, 'name' | 'streamId'>, config?: CityConfig, tx?: Tx): Promise<Blockers> {
    const known = config ?? (await this.config.known(city, tx))?.config;
    const switches = await this.roster.switches(city.streamId, tx);
    return blockersOf({ switches, config: known });
  }

  /** The same for one that is to be made of this agent. */
  async blocker(
    city: Pick<CityScope, 'name' | 'streamId'>,
    { agent, rig }: { readonly agent: string | null | undefined; readonly rig: string },
    config?: CityConfig,
    tx?: Tx,
  ): Promise<string | undefined> {
    return (await this.blockers(city, config, tx))(agent ?? undefined, rig);
  }

  /** The same for a session that somebody asks for. Where its name stands for another agent by now, what he gets is the next one of the name: that one is asked about. */
  async blockerOf(
    city: Pick<CityScope, 'name' | 'streamId'>,
    row: Pick<SessionRow, 'named_identity' | 'agent' | 'rig'>,
    config?: CityConfig,
  ): Promise<string | undefined> {
    const known = config ?? (await this.config.known(city))?.config;
    const next = known && otherAgent(known, row);
    return this.blocker(city, next === undefined ? row : { agent: next.qualified_name, rig: next.dir }, known);
  }
}
