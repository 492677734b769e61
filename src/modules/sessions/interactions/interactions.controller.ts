import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import {
  ListBodyCityPendingEntry,
  PendingQuery,
  SessionParam,
  SessionPendingResponse,
  SessionRespondInputBody,
  SessionRespondOutputBody,
  type SessionRespondInput,
} from './interactions.schemas.js';
import { ResponsesService } from './responses.service.js';

const ID = { schema: SessionParam };
const tag = 'sessions';
const headers = ['X-SVC-Index', 'X-SVC-Cache-Age-S'] as const;
const missing = ['city_not_found', 'session_not_found', 'ambiguous', 'wrong_state'] as const;

/** Questions of agents that wait for a person. */
@Controller('v0/city/:cityName')
export class InteractionsController {
  constructor(private readonly responses: ResponsesService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-pending',
    plannedOnce: true,
    name: 'list-pending',
    summary: 'List what waits for a person',
    description:
      'The oldest first, at most 1000 at once. Beyond the contract an entry has the prompt, the choices, the names of the session and since when; ' +
      '`limit` and `cursor` page. Changes are on the event stream: `session.interaction.opened` and `.resolved`.',
    tag,
    response: ListBodyCityPendingEntry,
    headers,
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('pending')
  async list(
    @City() city: CityScope,
    @Query({ schema: PendingQuery }) query: PendingQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyCityPendingEntry> {
    return fresh(reply, await this.responses.list(city, query));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-session-by-id-pending',
    plannedOnce: true,
    name: 'get-session-pending',
    summary: 'Read what a session waits for',
    description:
      '`supported` is false while the session is being started, and for runtimes that cannot ask. Where several are open, `pending` is ' +
      'the oldest and `others`, an addition, the rest; `choices`, another, tells what may be answered.',
    tag,
    response: SessionPendingResponse,
    headers,
    problems: missing,
  })
  @Get('session/:id/pending')
  async pending(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionPendingResponse> {
    return fresh(reply, await this.responses.pending(city, id));
  }

  @Operation({
    id: 'respond-session',
    plannedOnce: true,
    needs: 'operate',
    example: { action: 'allow' },
    summary: 'Answer what a session waits for',
    description:
      'The first answer counts, others are refused with 409. It is stored with the 202 and passed on to the agent; the event ' +
      '`session.interaction.resolved` says what was chosen.',
    tag,
    status: 202,
    response: SessionRespondOutputBody,
    problems: [...missing, 'no_pending', 'invalid_interaction', 'invalid_request', 'unsupported', 'idempotency_in_flight'],
  })
  @Post('session/:id/respond')
  respond(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: SessionRespondInputBody }) body: SessionRespondInput,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
  ): Promise<SessionRespondOutputBody> {
    return this.responses.respond(city, id, body, key, caller);
  }
}
