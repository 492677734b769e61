import { Injectable } from '@nestjs/common';
import type { Indexed } from '../../../platform/http/indexed.js';
import type { Principal } from '../../../contract/principal.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { blockersOf } from '../../sessions/launch/effective-suspension.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { StatusRow } from './city-counts.repository.js';
import { CityCounts } from './city-counts.service.js';
import { CityStatusRepository } from './city-status.repository.js';
import type { StatusBody, StatusQuery } from './city-status.schemas.js';
import { agentCounts, agentDetails, DETAILS, namedDetails, rigDetails, storeHealth } from './details.js';

/** The status of a city: its counts, and what they are made of. */
@Injectable()
export class CityStatusService {
  constructor(
    private readonly counts: CityCounts,
    private readonly config: ConfigReadsService,
    private readonly roster: RosterService,
    private readonly repository: CityStatusRepository,
  ) {}

  /** The status now, or once the city's stream has moved beyond `index`. */
  async status(name: string, query: StatusQuery, caller: Principal, gone: AbortSignal): Promise<Indexed<StatusBody>> {
    const row = await this.counts.row(name, query, caller, gone);
    const [body, details] = await Promise.all([
      this.counts.body(row, query),
      query.lite ? {} : this.#details(row).then((found) => ({ ...CONDITIONAL, ...found })),
    ]);
    return { index: row.head, value: { ...body, ...details } };
  }

  async #details({ stream_id: streamId, dir: path }: StatusRow): Promise<Partial<StatusBody>> {
    const [current, switches, { sessions, named, store }] = await Promise.all([
      this.config.known({ streamId }),
      this.roster.switches(streamId),
      this.repository.shown(streamId),
    ]);
    const health = store && storeHealth(path, store);
    const known = health === undefined ? {} : { store_health: health };
    if (current === undefined) return known;
    const { config, rejected } = current;
    const blockers = blockersOf({ switches, config });
    const agents = agentDetails(config, sessions, blockers);
    const long = [
      ...(agents.more ? ['agents'] : []),
      ...(config.rigs.length > DETAILS ? ['rigs'] : []),
      ...(config.named_sessions.length > DETAILS ? ['named sessions'] : []),
    ];
    const cut = long.map((what) => `there are more ${what}; the first ${DETAILS} are shown`);
    return {
      agents: agentCounts(config, sessions, blockers),
      agent_details: agents.lines,
      rig_details: rigDetails(config.rigs, switches),
      named_session_details: namedDetails(config.named_sessions, named),
      ...(rejected === undefined ? {} : { config_rejected: rejected }),
      ...known,
      ...(cut.length === 0 ? {} : { partial: true, partial_errors: cut }),
    };
  }
}

/** The one store that there is compares the revision of a bead with each write that names one, whatever a city's files say. */
const CONDITIONAL = {
  beads: { beads_store: 'postgres', native_store_eligible: true },
  conditional_writes: {
    mode: 'require',
    origin: 'builtin',
    effective: 'active',
    notices: [],
    stores: [{ store_id: 'postgres', kind: 'postgres', probe: 'capable', latch: 'unlatched', capable: true }],
  },
} satisfies Partial<StatusBody>;
