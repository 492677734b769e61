import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import {
  DriftAcceptedBody,
  DriftAcceptInputBody,
  DriftQuery,
  ListBodySessionDrift,
  SessionDriftAcceptedBody,
  type DriftAcceptInput,
} from './session-drift.schemas.js';
import { SessionDrifts } from './session-drift.service.js';
import { SessionRefParam } from './sessions.query.js';

const tag = 'sessions';

/** What a changed configuration means for sessions that run. */
@Controller('v0/city/:cityName')
export class SessionDriftController {
  constructor(private readonly drifts: SessionDrifts) {}

  @Operation({
    id: 'list-session-drift',
    summary: 'List the sessions that run with an older configuration',
    description:
      'Newest first. `differs` names what has changed since the process was started, `next` what happens to it and when: before it happens, ' +
      'or while it waits. Prompts and credentials count for nothing. `limit` 0 is 100.',
    tag,
    response: ListBodySessionDrift,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_cursor', 'city_not_found', 'unavailable'],
  })
  @Get('sessions/drift')
  async list(
    @City() city: CityScope,
    @Query({ schema: DriftQuery }) query: DriftQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodySessionDrift> {
    return fresh(reply, await this.drifts.list(city, query));
  }

  @Operation({
    id: 'accept-agent-drift',
    needs: 'operate',
    summary: 'Let the sessions of an agent go on with an older configuration',
    description: 'As for one session, for all that have a process. What is being stopped already is skipped.',
    tag,
    response: DriftAcceptedBody,
    problems: ['city_not_found', 'agent_not_found', 'provider_not_found', 'provider_not_ready', 'unavailable'],
  })
  @Post('sessions/accept-drift')
  async acceptAll(
    @City() city: CityScope,
    @Body({ schema: DriftAcceptInputBody }) { agent }: DriftAcceptInput,
    @Caller() caller: Principal,
  ): Promise<DriftAcceptedBody> {
    return this.drifts.acceptAll(city, agent, caller);
  }

  @Operation({
    id: 'accept-session-drift',
    needs: 'operate',
    summary: 'Let a session go on with an older configuration',
    description:
      'Its process is not started again for what has changed until now; a further change counts again, and so does its next process. Twice ' +
      'is once. 409 without a process, and once it is being stopped.',
    tag,
    response: SessionDriftAcceptedBody,
    problems: ['city_not_found', 'session_not_found', 'ambiguous', 'conflict', 'wrong_state', 'unavailable'],
  })
  @Post('session/:id/accept-drift')
  async accept(
    @City() city: CityScope,
    @Param('id', { schema: SessionRefParam }) id: string,
    @Caller() caller: Principal,
  ): Promise<SessionDriftAcceptedBody> {
    return this.drifts.accept(city, id, caller);
  }
}
