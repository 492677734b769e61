import { Body, Controller, Delete, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ListBodyBead } from '../../../contract/beads.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { ConvoyReadsService } from './convoy-reads.service.js';
import {
  ConvoyAddInputBody,
  ConvoyAddOutputBody,
  ConvoyCheckResponse,
  ConvoyCloseInputBody,
  ConvoyCreateInputBody,
  ConvoyCreateOutputBody,
  ConvoyGetResponse,
  ConvoyIdParam,
  ConvoyLandInputBody,
  ConvoyLandResponse,
  ConvoyRemoveInputBody,
  ConvoysQuery,
} from './convoys.schemas.js';
import { ConvoysService } from './convoys.service.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const READ_HEADERS = ['X-SVC-Index', 'X-SVC-Cache-Age-S'] as const;

@Controller('v0/city/:cityName')
export class ConvoysController {
  constructor(
    private readonly convoys: ConvoysService,
    private readonly reads: ConvoyReadsService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-convoys',
    name: 'list-convoys',
    summary: "List a city's convoys",
    description:
      'Newest first; closed ones only with `all`. A page also ends once it is 8 MiB long. `owned` and `stranded` take `true` or `false`; a convoy is stranded while an open member has ' +
      'no assignee. With `index` the answer waits until the head is above it, at most `wait`.',
    response: ListBodyBead,
    headers: READ_HEADERS,
    problems: ['invalid_cursor', 'city_not_found'],
  })
  @Get('convoys')
  @Header('content-type', JSON_TYPE)
  async list(
    @City() city: CityScope,
    @Query({ schema: ConvoysQuery }) query: ConvoysQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.reads.list(city, query, clientGone(reply.raw, caller)));
  }

  @Operation({
    id: 'create-convoy',
    needs: 'operate',
    summary: 'Create a convoy, with its members',
    description:
      'All of `items` or nothing; they may be of any rig. `owned` keeps it from closing by itself: its owner lands it. Members that are closed ' +
      'already are named in `closed_items`; a convoy never closes by being made, or by what is added to it.',
    status: 201,
    response: ConvoyCreateOutputBody,
    headers: READ_HEADERS,
    problems: ['city_not_found', 'rig_not_found', 'bead_not_found', 'idempotency_in_flight', 'idempotency_mismatch'],
  })
  @Post('convoys')
  async create(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: ConvoyCreateInputBody }) body: ConvoyCreateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConvoyCreateOutputBody> {
    return fresh(reply, await this.convoys.create(city, body, key, caller));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-convoy-by-id',
    plannedOnce: true,
    name: 'get-convoy',
    summary: 'Read a convoy with its members and their progress',
    description: 'Members are the beads that it tracks and those whose parent it is, closed ones too, oldest first.',
    response: ConvoyGetResponse,
    headers: READ_HEADERS,
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found'],
  })
  @Get('convoy/:id')
  @Header('content-type', JSON_TYPE)
  async get(
    @City() city: CityScope,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.reads.get(city, id));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-convoy-by-id-check',
    plannedOnce: true,
    name: 'check-convoy',
    summary: 'How many members a convoy has, how many are closed, and whether that is all of them',
    description: 'Counted now. An empty convoy is not complete.',
    response: ConvoyCheckResponse,
    headers: READ_HEADERS,
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found'],
  })
  @Get('convoy/:id/check')
  async check(
    @City() city: CityScope,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConvoyCheckResponse> {
    return fresh(reply, await this.reads.check(city, id));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-convoy-by-id-add',
    name: 'add-to-convoy',
    needs: 'operate',
    example: { items: ['al-1'] },
    summary: 'Add members to an open convoy',
    description:
      'All of them or none; members stay members. Those that are closed already are named in `closed_items`: they count, but adding does not ' +
      'close a convoy. No convoy may be in itself, directly or through others.',
    response: ConvoyAddOutputBody,
    headers: ['X-SVC-Index'],
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found', 'bead_not_found', 'wrong_state', 'dependency_cycle'],
  })
  @Post('convoy/:id/add')
  async add(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Body({ schema: ConvoyAddInputBody }) body: ConvoyAddInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConvoyAddOutputBody> {
    return fresh(reply, await this.convoys.add(city, id, body, caller));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-convoy-by-id-remove',
    name: 'remove-from-convoy',
    needs: 'operate',
    example: { items: ['al-1'] },
    summary: 'Remove members from a convoy',
    description:
      'All of them or none; children lose the convoy as their parent. A convoy that loses its last open member closes, unless it is owned or ' +
      'has no members left.',
    response: OKResponseBody,
    headers: ['X-SVC-Index'],
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found', 'bead_not_found'],
  })
  @Post('convoy/:id/remove')
  async remove(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Body({ schema: ConvoyRemoveInputBody }) body: ConvoyRemoveInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ status: string }> {
    return fresh(reply, await this.convoys.remove(city, id, body, caller));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-convoy-by-id-close',
    name: 'close-convoy',
    needs: 'operate',
    example: { reason: 'done' },
    summary: 'Close a convoy, whatever its members are',
    description: 'Its members stay as they are. A closed convoy stays closed, with the reason that it has.',
    response: OKResponseBody,
    headers: ['X-SVC-Index'],
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found'],
  })
  @Post('convoy/:id/close')
  async close(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Body({ schema: ConvoyCloseInputBody.optional() }) body: ConvoyCloseInputBody | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ status: string }> {
    return fresh(reply, await this.convoys.close(city, id, body?.reason, caller));
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-convoy-by-id',
    name: 'delete-convoy',
    needs: 'operate',
    summary: 'Close a convoy',
    description: 'The same as closing it without a reason of your own.',
    response: OKResponseBody,
    headers: ['X-SVC-Index'],
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found'],
  })
  @Delete('convoy/:id')
  async delete(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ status: string }> {
    return fresh(reply, await this.convoys.close(city, id, undefined, caller));
  }

  @Operation({
    id: 'land-convoy',
    needs: 'operate',
    example: { dry_run: true },
    summary: 'Land an owned convoy',
    description:
      'Closes it once all its members are closed, with `force` also before; they stay as they are. `dry_run` tells what would be refused or ' +
      'land and changes nothing. Landing a closed one succeeds.',
    response: ConvoyLandResponse,
    headers: ['X-SVC-Index'],
    problems: ['invalid_request', 'city_not_found', 'convoy_not_found', 'wrong_state'],
  })
  @Post('convoy/:id/land')
  async land(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('id', { schema: ConvoyIdParam }) id: string,
    @Body({ schema: ConvoyLandInputBody.optional() }) body: ConvoyLandInputBody | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConvoyLandResponse> {
    return fresh(reply, await this.convoys.land(city, id, body ?? {}, caller));
  }
}
