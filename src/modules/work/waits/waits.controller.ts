import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { fresh, indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { WaitReadsService } from './wait-reads.service.js';
import {
  WaitAcceptInputBody,
  WaitCancelInputBody,
  WaitCreateInputBody,
  WaitFailInputBody,
  WaitIdParam,
  WaitListBody,
  WaitsQuery,
  WaitView,
  type WaitAcceptInput,
  type WaitCancelInput,
  type WaitCreateInput,
  type WaitFailInput,
} from './waits.schemas.js';
import { WaitsService } from './waits.service.js';

const ID = { schema: WaitIdParam };
const tag = 'waits';
const headers = ['X-SVC-Index'] as const;
const missing = ['city_not_found', 'wait_not_found'] as const;

/** Durable waits of sessions for beads to be closed. */
@Controller('v0/city/:cityName')
export class WaitsController {
  constructor(
    private readonly waits: WaitsService,
    private readonly reads: WaitReadsService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-waits',
    name: 'list-waits',
    summary: 'List waits',
    description:
      'Newest first. Without `all` and without a finished `state` (closed, failed, expired, canceled) only pending and ready ones. ' +
      '`session` is a name as it was registered or the address of an agent. At most 1000 at once; `capped` and `next_cursor` say that there are more.',
    tag,
    response: WaitListBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('waits')
  async list(
    @City() city: CityScope,
    @Query({ schema: WaitsQuery }) query: WaitsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitListBody> {
    return fresh(reply, await this.reads.list(city, query));
  }

  @Operation({
    id: 'create-wait',
    needs: 'operate',
    example: { session: 'mayor', kind: 'manual' },
    summary: 'Wait for beads to be closed',
    description:
      'The wait is ready, with a `nudge_id`, once all (`dep_mode` any: one) of `dep_ids` are closed; those that are closed already count. ' +
      'It fails when one of them (any: the last) is removed, and expires at its time.',
    tag,
    status: 201,
    response: WaitView,
    headers,
    problems: ['city_not_found', 'bead_not_found', 'idempotency_in_flight'],
  })
  @Post('waits')
  async create(
    @City() city: CityScope,
    @Body({ schema: WaitCreateInputBody }) body: WaitCreateInput,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitView> {
    return indexed(reply, await this.waits.create(city, body, key, caller));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-wait-by-id',
    name: 'get-wait',
    summary: 'Read a wait',
    description: 'What it waits for, and how far it is.',
    tag,
    response: WaitView,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: missing,
  })
  @Get('wait/:id')
  async get(@City() city: CityScope, @Param('id', ID) id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<WaitView> {
    return fresh(reply, await this.reads.get(city, id));
  }

  @Operation({
    id: 'ready-wait',
    needs: 'operate',
    summary: 'Make a wait ready by hand',
    description:
      'A ready wait stays as it is. For a finished one another is registered that is ready at once, with the next `delivery_attempt` ' +
      'and the finished one as `retried_from_wait`; the answer is the other.',
    tag,
    response: WaitView,
    headers,
    problems: [...missing, 'idempotency_in_flight'],
  })
  @Post('wait/:id/ready')
  async ready(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitView> {
    return indexed(reply, await this.waits.ready(city, id, key, caller));
  }

  @Operation({
    id: 'cancel-wait',
    needs: 'operate',
    example: { reason: 'not needed any more' },
    summary: 'Cancel a wait',
    description: 'The body may be left out. Canceling twice changes nothing.',
    tag,
    response: WaitView,
    headers,
    problems: [...missing, 'wrong_state'],
  })
  @Post('wait/:id/cancel')
  async cancel(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: WaitCancelInputBody.optional() }) body: WaitCancelInput | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitView> {
    return indexed(reply, await this.waits.cancel(city, id, body ?? {}, caller));
  }

  @Operation({
    id: 'accept-wait',
    needs: 'operate',
    summary: 'Close a ready wait: its nudge has reached the session',
    description: 'Repeating it with the same `nudge_id` changes nothing.',
    tag,
    response: WaitView,
    headers,
    problems: [...missing, 'wrong_state'],
  })
  @Post('wait/:id/accept')
  async accept(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: WaitAcceptInputBody }) body: WaitAcceptInput,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitView> {
    return indexed(reply, await this.waits.accept(city, id, body, caller));
  }

  @Operation({
    id: 'fail-wait',
    needs: 'operate',
    summary: 'Fail a ready wait: its nudge could not be delivered',
    description: 'Repeating it with the same `nudge_id` changes nothing.',
    tag,
    response: WaitView,
    headers,
    problems: [...missing, 'wrong_state'],
  })
  @Post('wait/:id/fail')
  async fail(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: WaitFailInputBody }) body: WaitFailInput,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitView> {
    return indexed(reply, await this.waits.fail(city, id, body, caller));
  }
}
