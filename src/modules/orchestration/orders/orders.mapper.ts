import type { MonitorFeedItemResponse } from '../runs/formula-runs.schemas.js';
import { masked } from '../../files/composition/mask.js';
import type { EffectiveOrder } from './order-definition.js';
import type { OpenFiring, ShownFiring } from './order-rows.js';
import type { OrderState } from './orders.repository.js';
import type { OrderHistoryEntry, OrderResponse } from './orders.schemas.js';

/** Keys that are answered as they are written. */
const WRITTEN = ['description', 'exec', 'formula', 'pool', 'interval', 'schedule', 'check', 'check_timeout', 'on', 'timeout'] as const;

export function toOrder(order: EffectiveOrder, state: OrderState | undefined): OrderResponse {
  const { definition, written } = order;
  const params = Object.entries(definition.params).map(([name, { required = false }]) => [name, { required }] as const);
  return {
    name: order.name,
    scoped_name: order.scopedName,
    type: definition.formula === undefined ? 'exec' : 'formula',
    enabled: order.enabled,
    capture_output: definition.formula === undefined,
    timeout_ms: definition.formula === undefined ? definition.timeout : 0,
    ...(order.rig === '' ? {} : { rig: order.rig }),
    trigger: definition.trigger,
    gate: definition.trigger,
    ...Object.fromEntries(WRITTEN.flatMap((key) => (written[key] === undefined ? [] : [[key, masked(written[key] as string, key)]]))),
    ...(definition.trigger === 'cron' ? { tz: definition.tz, catch_up: definition.catch_up } : {}),
    ...(definition.trigger === 'condition' ? { check_timeout_ms: definition.check_timeout } : {}),
    ...(definition.trigger === 'event' ? { delivery: definition.delivery } : {}),
    idempotent: definition.idempotent,
    ...(Object.keys(definition.env).length === 0 ? {} : { env: masked(definition.env, 'env') }),
    ...(params.length === 0 ? {} : { params: Object.fromEntries(params) }),
    source: { file: definition.file, pack: order.pack },
    ...(order.errors.length === 0 ? {} : { errors: [...order.errors] }),
    ...(state === undefined ? {} : toState(state)),
  };
}

function toState(state: OrderState): Partial<OrderResponse> {
  return { created_at: state.created_at.toISOString(), consecutive_failures: state.failures, ...timesOf(state) };
}

export function timesOf(state: OrderState): Pick<OrderResponse, 'last_run' | 'last_run_outcome' | 'next_due_at'> {
  return {
    ...(state.last_started_at === null ? {} : { last_run: state.last_started_at.toISOString() }),
    ...(state.last_outcome === null ? {} : { last_run_outcome: state.last_outcome }),
    ...(state.next_due_at === null ? {} : { next_due_at: state.next_due_at.toISOString() }),
  };
}

export function toEntry(city: string, firing: ShownFiring): OrderHistoryEntry {
  const { started_at: started, finished_at: finished, output } = firing;
  return {
    bead_id: firing.id,
    store_ref: firing.rig === '' ? `city:${city}` : `rig:${firing.rig}`,
    name: firing.name,
    scoped_name: firing.scoped_name,
    created_at: firing.created_at.toISOString(),
    labels: [`order-run:${firing.scoped_name}`, 'order-tracking', ...labelOf(firing)],
    capture_output: firing.definition.formula === undefined,
    has_output: (output ?? '') !== '',
    state: firing.state,
    cause: firing.cause,
    actor: firing.actor,
    ...(firing.rig === '' ? {} : { rig: firing.rig }),
    ...(firing.reason === null ? {} : { reason: firing.reason }),
    ...(firing.outcome === null ? {} : { outcome: firing.outcome }),
    ...(started === null ? {} : { started_at: started.toISOString() }),
    ...(finished === null ? {} : { finished_at: finished.toISOString() }),
    ...(started === null || finished === null ? {} : { duration_ms: String(Math.max(0, finished.getTime() - started.getTime())) }),
    ...(firing.exit_code === null ? {} : { exit_code: String(firing.exit_code) }),
    ...(firing.error === null ? {} : { error: firing.error }),
    ...(output === null || output === '' ? {} : { output }),
    ...(firing.root_bead_id === null ? {} : { wisp_root_id: firing.root_bead_id }),
  };
}

function labelOf({ definition, outcome }: ShownFiring): string[] {
  if (outcome === null) return [];
  const kind = definition.formula === undefined ? 'exec' : 'wisp';
  if (outcome === 'success') return [kind];
  return outcome === 'canceled' ? [`${kind}-canceled`] : [`${kind}-failed`];
}

export function toFeedItem(city: string, firing: OpenFiring): MonitorFeedItemResponse {
  const store = firing.rig === '' ? `city:${city}` : `rig:${firing.rig}`;
  const { definition } = firing;
  return {
    id: `order:${store}:${firing.id}`,
    type: definition.formula === undefined ? 'exec' : 'formula',
    status: firing.state === 'running' ? 'active' : 'pending',
    title: firing.scoped_name,
    scope_kind: firing.rig === '' ? 'city' : 'rig',
    scope_ref: firing.rig === '' ? city : firing.rig,
    target: definition.pool ?? 'exec',
    started_at: (firing.started_at ?? firing.created_at).toISOString(),
    updated_at: (firing.started_at ?? firing.created_at).toISOString(),
    bead_id: firing.id,
    store_ref: store,
    detail_available: true,
  };
}
