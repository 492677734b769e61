import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeartbeatEvent } from '../../../contract/events/envelopes.js';
import type { Principal } from '../../../contract/principal.js';
import { AgentOutputResponse } from '../../../contract/transcripts.schemas.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { OperationSpec } from '../../../platform/http/operation.js';
import { AgentNameParam } from '../agents/agents.schemas.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { AgentOutput } from './agent-output.service.js';
import { AgentStreams } from './agent-streams.service.js';
import { begin, lastEventId } from './stream-answers.js';
import { AgentOutputQuery, NoQuery } from './transcripts.query.js';

const NAME = { schema: AgentNameParam };

function output(id: string, name: string, of: string): OperationSpec {
  return {
    id,
    name,
    summary: `Read what an agent${of} has said`,
    description:
      'Of the session that speaks for it: one with a process, or the newest. The last `tail` (1) segments of the transcript, 0 for all; ' +
      '`before` and the bounds are those of a transcript.',
    tag: 'agents',
    response: AgentOutputResponse,
    problems: ['city_not_found', 'agent_not_found', 'transcript_cursor_invalidated', 'unavailable'],
  };
}

function stream(id: string, of: string): OperationSpec {
  return {
    id,
    summary: `Follow what an agent${of} says`,
    description:
      'Begins with the last segment and goes on live, across sessions: when the one that speaks for the agent has no process any more, the ' +
      'next one follows from its beginning. `session_id` says which it is. Ids are positions: any replica goes on from the last. Every entry ' +
      'is a turn of its own; one that has changed is sent again under its own id.',
    tag: 'agents',
    stream: [
      { event: 'heartbeat', data: HeartbeatEvent, id: 'integer' },
      { event: 'turn', data: AgentOutputResponse, id: 'integer' },
    ],
    headers: ['SVC-Agent-Status'],
    problems: ['city_not_found', 'agent_not_found', 'invalid_cursor', 'cursor_expired', 'cursor_ahead', 'unavailable'],
  };
}

/** What agents say, whichever session says it. */
@Controller('v0/city/:cityName')
export class AgentOutputController {
  constructor(
    private readonly outputs: AgentOutput,
    private readonly streams: AgentStreams,
  ) {}

  @Operation(output('get-v0-city-by-city-name-agent-by-base-output', 'get-agent-output', ''))
  @Get('agent/:base/output')
  get(
    @City() city: CityScope,
    @Param('base', NAME) base: string,
    @Query({ schema: AgentOutputQuery }) query: AgentOutputQuery,
  ): Promise<AgentOutputResponse> {
    return this.outputs.get(city, '', base, query);
  }

  @Operation(output('get-v0-city-by-city-name-agent-by-dir-by-base-output', 'get-rig-agent-output', ' of a rig'))
  @Get('agent/:dir/:base/output')
  getQualified(
    @City() city: CityScope,
    @Param('dir', NAME) dir: string,
    @Param('base', NAME) base: string,
    @Query({ schema: AgentOutputQuery }) query: AgentOutputQuery,
  ): Promise<AgentOutputResponse> {
    return this.outputs.get(city, dir, base, query);
  }

  @Operation(stream('stream-agent-output', ''))
  @Get('agent/:base/output/stream')
  async stream(
    @City() city: CityScope,
    @Param('base', NAME) base: string,
    @Query({ schema: NoQuery }) _query: object,
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, await this.streams.open(city, '', base, caller, lastEventId(request)));
  }

  @Operation(stream('stream-agent-output-qualified', ' of a rig'))
  @Get('agent/:dir/:base/output/stream')
  async streamQualified(
    @City() city: CityScope,
    @Param('dir', NAME) dir: string,
    @Param('base', NAME) base: string,
    @Query({ schema: NoQuery }) _query: object,
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, await this.streams.open(city, dir, base, caller, lastEventId(request)));
  }

  @Operation(stream('stream-agents-output', ', named in full,'))
  @Get('agents/:agent/output/stream')
  async streamNamed(
    @City() city: CityScope,
    @Param('agent', NAME) agent: string,
    @Query({ schema: NoQuery }) _query: object,
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, await this.streams.open(city, '', agent, caller, lastEventId(request)));
  }
}
