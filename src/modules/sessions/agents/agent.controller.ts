import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped } from '../../configuration/config/answers.js';
import { AgentReadsService } from './agent-reads.service.js';
import { AgentSwitchesService } from './agent-switches.service.js';
import { ACTED, EDITED, EDIT_PROBLEMS, READ, UPDATED } from './agent-operations.js';
import {
  type AgentAction,
  AgentActionParam,
  AgentNameParam,
  AgentResponse,
  AgentUpdateInputBody,
  AgentUpdateQuery,
} from './agents.schemas.js';
import { AgentsService } from './agents.service.js';

const BASE = { schema: AgentNameParam };

/** One agent, by a name without a rig. */
@Controller('v0/city/:cityName/agent/:base')
export class AgentController {
  constructor(
    private readonly reads: AgentReadsService,
    private readonly agents: AgentsService,
    private readonly switches: AgentSwitchesService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-agent-by-base',
    plannedOnce: true,
    name: 'get-agent',
    summary: 'Read an agent',
    description:
      'By its name with the import it comes from (`core.worker`), or by its bare name when the city has it once. A member of a pool is read by its own name.',
    tag: 'agents',
    response: AgentResponse,
    headers: READ,
    problems: ['city_not_found', 'agent_not_found', 'unavailable'],
  })
  @Get()
  async get(
    @City() city: CityScope,
    @Param('base', BASE) base: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AgentResponse> {
    const { body, index } = await this.reads.get(city, '', base);
    return stamped(reply, { index }, body);
  }

  @Operation({
    id: 'patch-v0-city-by-city-name-agent-by-base',
    name: 'update-agent',
    needs: 'configure',
    example: { suspended: true },
    summary: 'Change an agent',
    description: UPDATED,
    tag: 'agents',
    response: OKResponseBody,
    headers: EDITED,
    problems: ['invalid_request', ...EDIT_PROBLEMS],
  })
  @Patch()
  async update(
    @City() city: CityScope,
    @Param('base', BASE) base: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Query({ schema: AgentUpdateQuery }) { patch }: AgentUpdateQuery,
    @Body({ schema: AgentUpdateInputBody }) body: AgentUpdateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.agents.update({ city, caller, dir: '', base, expected }, body, patch ? 'patch' : 'refuse'));
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-agent-by-base',
    name: 'delete-agent',
    needs: 'configure',
    summary: 'Take an agent out of the city’s files',
    description: 'With everything in its folder. Refused while something still names the agent; the answer says what.',
    tag: 'agents',
    response: OKResponseBody,
    headers: EDITED,
    problems: EDIT_PROBLEMS,
  })
  @Delete()
  async remove(
    @City() city: CityScope,
    @Param('base', BASE) base: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.agents.remove({ city, caller, dir: '', base, expected }));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-agent-by-base-by-action',
    name: 'act-on-agent',
    needs: 'operate',
    summary: 'Suspend or resume an agent',
    description: ACTED,
    tag: 'agents',
    response: OKResponseBody,
    problems: ['city_not_found', 'agent_not_found', 'wrong_state', 'unavailable'],
  })
  @Post(':action')
  act(
    @City() city: CityScope,
    @Param('base', BASE) base: string,
    @Param('action', { schema: AgentActionParam }) action: AgentAction,
    @Caller() caller: Principal,
  ): Promise<OKResponseBody> {
    return this.switches.act({ city, caller, dir: '', base }, action);
  }
}
