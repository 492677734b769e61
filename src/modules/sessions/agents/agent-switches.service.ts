import { Injectable } from '@nestjs/common';
import { AgentResumed, AgentSuspended } from '../../../contract/events/config.events.js';
import type { Principal } from '../../../contract/principal.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event } from '../../../platform/event-log/event.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { findMember } from './agent-members.js';
import { agentNotFound, wholeAgent } from './agent-problems.js';
import type { AgentAction } from './agents.schemas.js';

export interface AgentOfPath {
  readonly city: CityScope;
  readonly caller: Principal;
  /** '' for an agent of the city. */
  readonly dir: string;
  readonly base: string;
}

const SWITCHED = { suspend: true, resume: false, reset: null } as const;

/** Suspending and resuming agents at run time, wherever they are defined. No file changes. */
@Injectable()
export class AgentSwitchesService {
  constructor(
    private readonly config: ConfigReadsService,
    private readonly roster: RosterService,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
  ) {}

  /**
   * Sets the agent's switch, or with `reset` takes it away. The event says what holds afterwards; a switch that already
   * stands like that changes nothing.
   *
   * @throws ProblemError agent_not_found; wrong_state for a member of a pool
   */
  async act({ city, caller, dir, base }: AgentOfPath, action: AgentAction): Promise<OKResponseBody> {
    const { config } = await this.config.current(city);
    const member = findMember(config, dir, base);
    if (member === undefined) throw agentNotFound(dir, base);
    const agent = wholeAgent(member);
    const subject = agent.qualified_name;
    await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const changed = await this.roster.switchAgent(tx, city.streamId, subject, SWITCHED[action]);
        if (changed === undefined) throw agentNotFound(dir, base);
        if (!changed) return;
        const definition = (SWITCHED[action] ?? agent.suspended ?? false) ? AgentSuspended : AgentResumed;
        await this.eventLog.append(tx, [
          event(definition, { stream: city.stream, actor: caller.actor, subject, payload: { agent: subject } }),
        ]);
      },
      { key: city.name },
    );
    return { status: 'ok' };
  }
}
