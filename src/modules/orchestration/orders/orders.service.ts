import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { heldItems } from '../../../platform/database/page-bytes.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService, type Read } from '../../configuration/config/config-reads.service.js';
import { pageAfter } from '../../configuration/config/page.js';
import { rigOf } from '../formulas/formula-scope.js';
import { nextFirings, reasonOf } from './due.js';
import { orderNamed } from './order-names.js';
import { ordersOf, type EffectiveOrder } from './order-definition.js';
import { OrderTimes } from './order-times.js';
import { timesOf, toEntry, toFeedItem, toOrder } from './orders.mapper.js';
import { OrdersRepository, type OrderState } from './orders.repository.js';
import type {
  OrderCheckListBody,
  OrderCheckResponse,
  OrderHistoryDetailQuery,
  OrderHistoryDetailResponse,
  OrderHistoryListBody,
  OrderHistoryQuery,
  OrderListBody,
  OrderResponse,
  OrdersFeedBody,
  OrdersFeedQuery,
  OrdersQuery,
} from './orders.schemas.js';

const NEXT = 5;
/** Firings of a feed whose `limit` is 0, which says nothing, as in other lists. */
const FEED_PAGE = 50;
const TOKEN = /^\d{1,15}$/;

/** What a city's orders are, when they are due, and what has become of their firings. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly repository: OrdersRepository,
    private readonly times: OrderTimes,
  ) {}

  async list(city: CityScope, { enabled, limit, cursor }: OrdersQuery): Promise<Read<OrderListBody>> {
    const { config, revision, index } = await this.reads.current(city);
    const { orders, errors } = ordersOf(config);
    const wanted = enabled === undefined ? orders : orders.filter((order) => order.enabled === enabled);
    const page = pageAfter(wanted, { limit, ...(cursor === undefined ? {} : { cursor }) }, revision);
    const states = await this.#states(city, page.items);
    const items = page.items.map((order) => toOrder(order, states.get(order.scopedName)));
    const body = { orders: items, ...(errors.length === 0 ? {} : { errors: [...errors] }), total: wanted.length, ...page.next };
    return { body, revision, index };
  }

  /** @throws ProblemError order_not_found, ambiguous_reference */
  async get(city: CityScope, name: string): Promise<Read<OrderResponse>> {
    const { config, revision, index } = await this.reads.current(city);
    const order = orderNamed(ordersOf(config), name);
    const state = (await this.#states(city, [order])).get(order.scopedName);
    const now = await this.times.now();
    const next =
      order.enabled && order.errors.length === 0 ? nextFirings(order.definition, state?.next_due_at ?? undefined, now, NEXT) : [];
    const origins = Object.fromEntries(Object.entries(order.origins).map(([key, origin]) => [key, { ...origin }]));
    return { body: { ...toOrder(order, state), origins, next: next.map((at) => at.toISOString()) }, revision, index };
  }

  /** What is due now of the orders that are enabled. Conditions are told as the workers have found them last. */
  async check(city: CityScope): Promise<Read<OrderCheckListBody>> {
    const { config, revision, index } = await this.reads.current(city);
    const orders = ordersOf(config).orders.filter(({ enabled }) => enabled);
    const names = orders.map(({ scopedName }) => scopedName);
    const [states, waiting, now] = await Promise.all([
      this.repository.states(city.streamId, names),
      this.repository.waiting(city.streamId, names),
      this.times.now(),
    ]);
    const checks = orders.map((order) => checkOf(order, states.get(order.scopedName), waiting.has(order.scopedName), now));
    return { body: { checks }, revision, index };
  }

  async history(city: CityScope, { scoped_name: name, limit, before, cursor }: OrderHistoryQuery): Promise<OrderHistoryListBody> {
    if (cursor !== undefined && !TOKEN.test(cursor))
      throw problem('invalid_cursor', 'cursor is none that this list gave', { at: 'query.cursor' });
    const wanted = limit === 0 ? 500 : limit;
    const rows = await this.repository.history(city.streamId, name, wanted + 1, before, cursor === undefined ? undefined : Number(cursor));
    const most = rows.slice(0, wanted).map((row) => toEntry(city.name, row));
    const entries = most.slice(0, heldItems(most));
    return { entries, ...(rows.length > entries.length ? { next_cursor: String(rows[entries.length - 1]!.pk) } : {}) };
  }

  /** @throws ProblemError not_found, scope_not_found for a store that the city has not */
  async firing(city: CityScope, id: string, { store_ref: store }: OrderHistoryDetailQuery): Promise<OrderHistoryDetailResponse> {
    const { config } = await this.reads.current(city);
    const stores = [`city:${city.name}`, `orders:${city.name}`, ...config.rigs.map(({ name }) => `rig:${name}`)];
    if (store !== undefined && !stores.includes(store)) throw problem('scope_not_found', 'store_ref does not resolve to a known scope');
    const firing = await this.repository.firing(city.streamId, id);
    if (firing === undefined) throw problem('not_found', 'bead not found');
    const entry = toEntry(city.name, firing);
    return {
      bead_id: entry.bead_id,
      store_ref: entry.store_ref,
      created_at: entry.created_at,
      labels: entry.labels,
      output: firing.output ?? '',
      entry,
      vars: firing.vars,
      ...(firing.event === null ? {} : { event: firing.event as unknown as Record<string, unknown> }),
    };
  }

  async feed(city: CityScope, { scope_kind, scope_ref, limit }: OrdersFeedQuery): Promise<OrdersFeedBody> {
    const { config } = await this.reads.current(city);
    const rig = rigOf({ scope_kind, scope_ref }, city.name, config, 'query');
    const rows = await this.repository.open(city.streamId, rig, limit === 0 ? FEED_PAGE : limit);
    return { items: rows.map((row) => toFeedItem(city.name, row)), partial: false };
  }

  #states(city: CityScope, orders: readonly EffectiveOrder[]): Promise<Map<string, OrderState>> {
    return this.repository.states(
      city.streamId,
      orders.map(({ scopedName }) => scopedName),
    );
  }
}

function checkOf(order: EffectiveOrder, state: OrderState | undefined, waits: boolean, now: Date): OrderCheckResponse {
  const { definition } = order;
  const due = state?.next_due_at ?? undefined;
  const byTime = definition.trigger === 'cooldown' || definition.trigger === 'cron';
  const isDue = order.errors.length === 0 && state?.open === null && (waits || (byTime && due !== undefined && due <= now));
  return {
    name: order.name,
    scoped_name: order.scopedName,
    due: isDue,
    reason: reason(order, state, waits, now),
    ...(order.rig === '' ? {} : { rig: order.rig }),
    ...(state === undefined ? {} : timesOf(state)),
  };
}

function reason({ definition, errors }: EffectiveOrder, state: OrderState | undefined, waits: boolean, now: Date): string {
  if (errors.length > 0) return errors.join('; ');
  if (state === undefined) return 'not read by a worker yet';
  if (state.open !== null) return `the firing ${state.open} ${state.waits ? 'waits for a place on a worker' : 'is being carried out'}`;
  if (waits) return `event: ${definition.on!} event(s)`;
  if (state.note?.startsWith('not fired') || definition.trigger === 'condition') return state.note ?? 'condition: not checked yet';
  return reasonOf(definition, state.last_started_at ?? undefined, state.next_due_at ?? undefined, now);
}
