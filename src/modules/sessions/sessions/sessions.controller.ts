import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { AsyncAcceptedBody } from '../../../contract/scalars.js';
import {
  ListBodySessionResponse,
  SessionCreateBody,
  SessionPatchBody,
  SessionPermissionModeBody,
  SessionRenameInputBody,
  SessionResponse,
} from '../../../contract/sessions.schemas.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { SessionCreation } from './session-creation.service.js';
import { SessionEdits } from './session-edits.service.js';
import { SessionLists } from './session-lists.service.js';
import { SessionQuery, SessionRefParam, SessionsQuery } from './sessions.query.js';

const ID = { schema: SessionRefParam };
const tag = 'sessions';
const headers = ['X-SVC-Index', 'X-SVC-Cache-Age-S'] as const;
const missing = ['city_not_found', 'session_not_found', 'ambiguous'] as const;

/** Sessions: conversations that last, with or without a process behind them. */
@Controller('v0/city/:cityName')
export class SessionsController {
  constructor(
    private readonly lists: SessionLists,
    private readonly creation: SessionCreation,
    private readonly edits: SessionEdits,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-sessions',
    name: 'list-sessions',
    summary: 'List the sessions of a city',
    description:
      'Newest first, unless `sort` says otherwise. `state` is a list of states, or of `open`, `closed` and `all`; without it closed ones are left out. It is compared with ' +
      'the stored state: an active session without a process is shown as asleep. `limit` 0 is 100. `peek` adds the last 5 lines that each has ' +
      'said. `rig`, `provider`, `kind`, `running` and `pending` (waits for an answer) filter further. With `index` the answer waits until the ' +
      'head is above it, at most `wait` (30s, up to 5m).',
    tag,
    response: ListBodySessionResponse,
    headers,
    problems: ['invalid_cursor', 'city_not_found', 'unavailable'],
  })
  @Get('sessions')
  async list(
    @City() city: CityScope,
    @Query({ schema: SessionsQuery }) query: SessionsQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodySessionResponse> {
    return fresh(reply, await this.lists.list(city, query, clientGone(reply.raw, caller)));
  }

  @Operation({
    id: 'create-session',
    plannedOnce: true,
    needs: 'operate',
    example: { kind: 'agent', name: 'mayor' },
    summary: 'Make a session of an agent or a provider',
    description:
      'Answered once everything is checked and its names are taken; `session_id` names it already. It ends with ' +
      '`request.result.session.create` when the session is ready (with `message`: when that is delivered), or with `request.failed`. ' +
      '`event_cursor` is a position before it. The alias of an agent with many sessions is put into its rig. Without a title it is called ' +
      'by the first line of its message.',
    tag,
    status: 202,
    response: AsyncAcceptedBody,
    problems: [
      'invalid_request',
      'city_not_found',
      'agent_not_found',
      'provider_not_found',
      'conflict',
      'wrong_state',
      'idempotency_in_flight',
      'provider_not_ready',
      'unavailable',
    ],
  })
  @Post('sessions')
  async create(
    @City() city: CityScope,
    @Body({ schema: SessionCreateBody }) body: SessionCreateBody,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
  ): Promise<AsyncAcceptedBody> {
    return this.creation.create(city, body, key, caller);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-session-by-id',
    plannedOnce: true,
    name: 'get-session',
    summary: 'Read a session',
    description:
      '`id` is an id, a configured name, a session name or an alias, or the last segment of one where that is unique; closed sessions are ' +
      'found, too. `peek` adds the last `peek_lines` (5) lines that it has said.',
    tag,
    response: SessionResponse,
    headers,
    problems: [...missing, 'conflict', 'unavailable'],
  })
  @Get('session/:id')
  async get(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Param('id', ID) id: string,
    @Query({ schema: SessionQuery }) query: SessionQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionResponse> {
    return fresh(reply, await this.lists.get(city, id, query, caller));
  }

  @Operation({
    id: 'patch-v0-city-by-city-name-session-by-id',
    plannedOnce: true,
    name: 'update-session',
    needs: 'operate',
    example: { title: 'My session' },
    summary: 'Change the title or the alias of a session',
    description:
      'An empty alias takes it away. What a session was called before reserves nothing; open beads that are assigned by it follow the session, whoever has assigned them.',
    tag,
    response: SessionResponse,
    problems: [...missing, 'invalid_request', 'forbidden', 'conflict', 'unavailable'],
  })
  @Patch('session/:id')
  async patch(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: SessionPatchBody }) body: SessionPatchBody,
    @Caller() caller: Principal,
  ): Promise<SessionResponse> {
    return this.edits.patch(city, id, body, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-rename',
    name: 'rename-session',
    needs: 'operate',
    summary: 'Change the title of a session',
    description: 'Nothing else of it changes.',
    tag,
    response: SessionResponse,
    problems: [...missing, 'conflict', 'unavailable'],
  })
  @Post('session/:id/rename')
  async rename(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: SessionRenameInputBody }) body: SessionRenameInputBody,
    @Caller() caller: Principal,
  ): Promise<SessionResponse> {
    return this.edits.patch(city, id, body, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-permission-mode',
    name: 'set-session-permission-mode',
    needs: 'operate',
    example: { permission_mode: 'ask' },
    summary: 'Set the permission mode of a session',
    description:
      'Where the live agent offers it, it is set at once (`applied` is `live`), and stays for later starts; otherwise it is stored for the next ' +
      'start (`stored`), and refused while a process goes on with the old one.',
    tag,
    response: SessionResponse,
    problems: [...missing, 'invalid_request', 'conflict', 'wrong_state', 'unsupported', 'unavailable'],
  })
  @Post('session/:id/permission-mode')
  async permissionMode(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: SessionPermissionModeBody }) body: SessionPermissionModeBody,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionResponse> {
    return this.edits.permissionMode(city, id, body, caller, clientGone(reply.raw));
  }
}
