import { Body, Controller, Get, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped } from '../../configuration/config/answers.js';
import { AgentReadsService } from './agent-reads.service.js';
import { AgentCreatedOutputBody, AgentCreateInputBody, AgentsQuery, ListBodyAgentResponse } from './agents.schemas.js';
import { AgentsService } from './agents.service.js';

/** The agents of a city. */
@Controller('v0/city/:cityName/agents')
export class AgentsController {
  constructor(
    private readonly reads: AgentReadsService,
    private readonly agents: AgentsService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-agents',
    plannedOnce: true,
    name: 'list-agents',
    summary: 'List the agents of a city',
    description:
      'In the order of the configuration. A pool with a bound is listed by its members, one without as the agent itself while no session ' +
      'of it runs. `peek` adds the last output of running sessions. With `index` the answer waits until the head is above it, at most ' +
      '`wait` (30s, up to 2m). At most 10000 are listed; `partial` says that there are more. Agents have no entity tag: what they do now ' +
      'changes without a revision.',
    tag: 'agents',
    response: ListBodyAgentResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'unavailable'],
  })
  @Get()
  async list(
    @City() city: CityScope,
    @Query({ schema: AgentsQuery }) query: AgentsQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyAgentResponse> {
    const answer = await this.reads.list(city, query, clientGone(reply.raw, caller));
    return stamped(reply, { index: answer.index }, answer.body);
  }

  @Operation({
    id: 'create-agent',
    needs: 'configure',
    example: { name: 'worker', provider: 'loopback' },
    summary: 'Create an agent of the city',
    description:
      'Written to `agents/<name>/`, with its prompt. Agents of rigs come from packs, not from here. It is there on every replica once this has been answered.',
    tag: 'agents',
    status: 201,
    response: AgentCreatedOutputBody,
    headers: ['Location'],
    problems: [
      'invalid_request',
      'city_not_found',
      'conflict',
      'wrong_state',
      'idempotency_in_flight',
      'dependency_missing',
      'unavailable',
    ],
  })
  @Post()
  async create(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: AgentCreateInputBody }) body: AgentCreateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AgentCreatedOutputBody> {
    const answer = await this.agents.create(city, caller, key, body);
    void reply.header('location', `/v0/city/${encodeURIComponent(city.name)}/agent/${answer.body.agent}`);
    return edited(reply, answer);
  }
}
