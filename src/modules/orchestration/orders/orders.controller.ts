import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped } from '../../configuration/config/answers.js';
import { OrderRunsService } from './order-runs.service.js';
import { OrderSwitchesService } from './order-switches.service.js';
import {
  FiringIdParam,
  OrderCheckListBody,
  OrderCheckQuery,
  OrderHistoryDetailQuery,
  OrderHistoryDetailResponse,
  OrderHistoryListBody,
  OrderHistoryQuery,
  OrderListBody,
  OrderNameParam,
  OrderResponse,
  OrderRunInputBody,
  OrderRunOutputBody,
  OrdersFeedBody,
  OrdersFeedQuery,
  OrdersQuery,
  WebhookListBody,
} from './orders.schemas.js';
import { OrdersService } from './orders.service.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

const NAME = { schema: OrderNameParam };
const tag = 'orders';
const headers = ['ETag', 'X-SVC-Index', 'X-SVC-Cache-Age-S'] as const;
const NAMED = ['city_not_found', 'order_not_found', 'ambiguous_reference', 'unavailable'] as const;
const EDITED = [...NAMED, 'wrong_state', 'revision_mismatch', 'operation_in_progress', 'invalid_request'] as const;

/** What a city has done again and again: on a schedule, when something happens, or by hand. */
@Controller('v0/city/:cityName')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly switches: OrderSwitchesService,
    private readonly runs: OrderRunsService,
    private readonly webhooks: WebhooksService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-orders',
    name: 'list-orders',
    summary: 'List orders',
    description:
      'By name, those of the city before those of rigs. Also those that are disabled, and those that cannot be fired, with their errors.',
    tag,
    headers,
    response: OrderListBody,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get('orders')
  async list(
    @City() city: CityScope,
    @Query({ schema: OrdersQuery }) query: OrdersQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderListBody> {
    const answer = await this.orders.list(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-orders-check',
    name: 'check-orders',
    summary: 'See which orders are due',
    description: 'Changes nothing and runs nothing: what a condition says is what a worker has found last.',
    tag,
    headers,
    response: OrderCheckListBody,
    problems: ['city_not_found', 'unavailable'],
  })
  @Get('orders/check')
  async check(
    @City() city: CityScope,
    @Query({ schema: OrderCheckQuery }) _query: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderCheckListBody> {
    const answer = await this.orders.check(city);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-orders-history',
    name: 'list-order-firings',
    summary: 'List the firings of an order',
    description: 'Newest first, each with its outcome, exit code, duration and the end of its output. An order that never was has none.',
    tag,
    headers: ['X-SVC-Cache-Age-S'],
    response: OrderHistoryListBody,
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('orders/history')
  async history(
    @City() city: CityScope,
    @Query({ schema: OrderHistoryQuery }) query: OrderHistoryQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderHistoryListBody> {
    return stamped(reply, {}, await this.orders.history(city, query));
  }

  @Operation({
    id: 'list-webhooks',
    summary: 'List the webhooks of a city',
    description: 'Where other systems send to, which orders that fires, and what keeps it from being received. Never a secret.',
    tag,
    headers,
    response: WebhookListBody,
    problems: ['city_not_found', 'unavailable'],
  })
  @Get('orders/hooks')
  async hooks(@City() city: CityScope, @Res({ passthrough: true }) reply: FastifyReply): Promise<WebhookListBody> {
    const answer = await this.webhooks.list(city);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-orders-feed',
    name: 'list-order-feed',
    summary: 'List what is being carried out',
    description: 'The firings of a scope that are open.',
    tag,
    response: OrdersFeedBody,
    problems: ['city_not_found', 'scope_not_found', 'invalid_request', 'unavailable'],
  })
  @Get('orders/feed')
  feed(@City() city: CityScope, @Query({ schema: OrdersFeedQuery }) query: OrdersFeedQuery): Promise<OrdersFeedBody> {
    return this.orders.feed(city, query);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-order-history-by-bead-id',
    name: 'get-order-firing',
    summary: 'Read a firing',
    description: 'With what fired it, what it was given and the end of what it wrote.',
    tag,
    response: OrderHistoryDetailResponse,
    problems: ['city_not_found', 'not_found', 'scope_not_found', 'unavailable'],
  })
  @Get('order/history/:bead_id')
  firing(
    @City() city: CityScope,
    @Param('bead_id', { schema: FiringIdParam }) id: string,
    @Query({ schema: OrderHistoryDetailQuery }) query: OrderHistoryDetailQuery,
  ): Promise<OrderHistoryDetailResponse> {
    return this.orders.firing(city, id, query);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-order-by-name',
    plannedOnce: true,
    name: 'get-order',
    summary: 'Read an order',
    description:
      'A scoped name, or a bare name that only one order has. What counts by now, where each key was written, and the next five firings.',
    tag,
    headers,
    response: OrderResponse,
    problems: NAMED,
  })
  @Get('order/:name')
  async get(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderResponse> {
    const answer = await this.orders.get(city, name);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-order-by-name-enable',
    name: 'enable-order',
    needs: 'configure',
    summary: 'Enable an order',
    description: "An override in the city's file, which holds until the next one. What is being carried out goes on.",
    tag,
    headers,
    response: OKResponseBody,
    problems: EDITED,
  })
  @Post('order/:name/enable')
  async enable(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.switches.set({ city, caller, expected }, name, true));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-order-by-name-disable',
    name: 'disable-order',
    needs: 'configure',
    summary: 'Disable an order',
    description: "An override in the city's file, which holds until the next one. What is being carried out goes on.",
    tag,
    headers,
    response: OKResponseBody,
    problems: EDITED,
  })
  @Post('order/:name/disable')
  async disable(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.switches.set({ city, caller, expected }, name, false));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-order-by-name-run',
    name: 'run-order',
    needs: 'operate',
    example: { vars: { ref: 'v1.2.3' } },
    summary: 'Fire an order by hand',
    description:
      'Whatever its trigger. One firing at a time: 409 while another one is open, unless `force` says that it may be carried out beside it, ' +
      'and always while 100 are open. ' +
      'Counts as a run: a cooldown begins anew. `tracking_id` is the id of the firing.',
    tag,
    status: 202,
    headers: ['Location'],
    response: OrderRunOutputBody,
    problems: [...NAMED, 'wrong_state', 'order_running', 'order_rejected', 'idempotency_in_flight'],
  })
  @Post('order/:name/run')
  async run(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Body({ schema: OrderRunInputBody }) body: OrderRunInputBody,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OrderRunOutputBody> {
    const answer = await this.runs.run(city, name, body, key, caller);
    void reply.code(answer.status).header('location', `/v0/city/${city.name}/order/history/${answer.body.tracking_id ?? ''}`);
    return answer.body;
  }
}
