import { parseDuration } from '../../../../contract/duration.js';
import type { CityConfig } from '../../../files/composition/city-config.js';
import { listed, NAMED, shortened } from '../listed.js';
import { ordersOf, scopedNameOf, type CityOrders, type EffectiveOrder } from '../order-definition.js';

export type Scheme = 'hmac-sha256' | 'github' | 'bearer' | 'none';

/** How a hook knows who sends. Names of headers are in lower case. */
export interface Verification {
  readonly scheme: Scheme;
  /** The variable of the service that holds the secret, or the token. */
  readonly secretEnv?: string;
  readonly signatureHeader?: string;
  readonly eventHeader?: string;
  readonly deliveryHeader?: string;
  readonly timestampHeader?: string;
  readonly windowMs: number;
  readonly networks: readonly string[];
}

export interface HookRule {
  readonly event?: string;
  readonly match: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  /** Undefined when there is none of its name, or several. */
  readonly order: EffectiveOrder | undefined;
  readonly named: string;
  /** Why it fires nothing, made when it is asked for: a city may have a hundred thousand rules, and who has no key has all of them read. */
  readonly errors: () => Iterable<string>;
}

/** A webhook as it is received. */
export interface EffectiveHook {
  readonly name: string;
  /** '' for a hook of the city. */
  readonly rig: string;
  /** `<hook>`, or `<hook>:rig:<rig>`: how it is called. */
  readonly scopedName: string;
  readonly visibility: 'private' | 'public';
  /** Whether the city lets everybody send to it. */
  readonly isAllowed: boolean;
  readonly verification: Verification;
  readonly rate: { readonly perMinute: number; readonly burst: number };
  readonly rules: readonly HookRule[];
}

type Members = Readonly<Record<string, unknown>>;

interface Limit {
  readonly per_minute?: number;
  readonly burst?: number;
}

/** What the city says of all its webhooks, by their names where it names some. */
interface Policy {
  readonly allowed: ReadonlySet<string>;
  readonly all: Limit;
  readonly single: ReadonlyMap<string, Limit>;
}

const PER_MINUTE = 60;
const WINDOW_MS = 300_000;
const HEADERS: Readonly<Partial<Record<Scheme, { signature?: string; event?: string; delivery?: string }>>> = {
  github: { signature: 'x-hub-signature-256', event: 'x-github-event', delivery: 'x-github-delivery' },
};

const known = new WeakMap<CityConfig, readonly EffectiveHook[]>();

/** The webhooks of a composed city, by name. */
export function hooksOf(config: CityConfig): readonly EffectiveHook[] {
  let hooks = known.get(config);
  if (hooks === undefined) {
    const orders = ordersOf(config);
    const policy = policyOf((config.webhooks ?? {}) as Members);
    hooks = ((config.webhook ?? []) as readonly Members[]).map((members) => effective(members, policy, orders));
    known.set(config, hooks);
  }
  return hooks;
}

function policyOf(policy: Members): Policy {
  const all = (policy.rate_limit ?? {}) as Limit & { readonly override?: readonly (Limit & { readonly name: string })[] };
  // The first of a name counts, and of a map the last.
  const single = new Map((all.override ?? []).toReversed().map((limit) => [limit.name, limit]));
  return { allowed: new Set((policy.allow_public ?? []) as readonly string[]), all, single };
}

function effective(members: Members, policy: Policy, orders: CityOrders): EffectiveHook {
  const name = members.name as string;
  const rig = (members.rig as string | undefined) ?? '';
  const scopedName = scopedNameOf(name, rig);
  const { visibility = 'private' } = (members.publication ?? {}) as { visibility?: 'private' | 'public' };
  return {
    name,
    rig,
    scopedName,
    visibility,
    isAllowed: policy.allowed.has(name) || policy.allowed.has(scopedName),
    verification: verificationOf(members.verify as Members | undefined),
    rate: rateOf(members, policy, name, scopedName),
    rules: (members.rule as readonly Members[]).map((rule) => ruleOf(rule, rig, visibility === 'public', orders)),
  };
}

function verificationOf(verify: Members | undefined): Verification {
  if (verify === undefined) return { scheme: 'none', windowMs: WINDOW_MS, networks: [] };
  const scheme = verify.scheme as Scheme;
  const usual = HEADERS[scheme] ?? {};
  const header = (key: string, other?: string): string | undefined => (verify[key] as string | undefined)?.toLowerCase() ?? other;
  const [signature, event] = [header('signature_header', usual.signature), header('event_header', usual.event)];
  const [delivery, timestamp] = [header('dedup_header', usual.delivery), header('timestamp_header')];
  return {
    scheme,
    secretEnv: (verify.secret_env ?? verify.bearer_env) as string,
    ...(signature === undefined ? {} : { signatureHeader: signature }),
    ...(event === undefined ? {} : { eventHeader: event }),
    ...(delivery === undefined ? {} : { deliveryHeader: delivery }),
    ...(timestamp === undefined ? {} : { timestampHeader: timestamp }),
    windowMs: parseDuration((verify.replay_window as string | undefined) ?? '') ?? WINDOW_MS,
    networks: (verify.allowed_cidrs ?? []) as readonly string[],
  };
}

/** The last word is the city's own on this hook, then the hook's, then the city's on all. */
function rateOf(members: Members, { all, single }: Policy, name: string, scopedName: string): EffectiveHook['rate'] {
  const own = single.get(scopedName) ?? single.get(name);
  const perMinute = own?.per_minute ?? (members.max_per_minute as number | undefined) ?? all.per_minute ?? PER_MINUTE;
  return { perMinute, burst: own?.burst ?? all.burst ?? perMinute };
}

function ruleOf(rule: Members, hookRig: string, isPublic: boolean, orders: CityOrders): HookRule {
  const named = rule.order as string;
  const order = orderOf(named, rule.rig as string | undefined, hookRig, orders);
  const args = (rule.args ?? {}) as Readonly<Record<string, string>>;
  return {
    ...(rule.event === undefined ? {} : { event: rule.event as string }),
    match: (rule.match ?? {}) as Readonly<Record<string, string>>,
    args,
    order,
    named,
    errors: () => (order === undefined ? [`order ${shortened(named)} not found`] : errorsOf(order, args, isPublic)),
  };
}

/** Of the rig that the rule names; else of the hook's own, else of the city. */
function orderOf(name: string, rig: string | undefined, hookRig: string, { byScopedName }: CityOrders): EffectiveOrder | undefined {
  const places = rig === undefined ? [hookRig, ''] : [rig];
  for (const place of places) {
    const scoped = byScopedName.get(scopedNameOf(name, place));
    if (scoped !== undefined) return scoped;
  }
  return undefined;
}

/** One after the other: whoever asks only whether there is any has no more than the first of them made. */
function* errorsOf(order: EffectiveOrder, args: Readonly<Record<string, string>>, isPublic: boolean): Generator<string> {
  const { definition, scopedName } = order;
  for (const error of order.errors) yield `order ${scopedName}: ${error}`;
  if (!order.enabled) yield `order ${scopedName} is disabled`;
  if (definition.trigger !== 'webhook') yield `order ${scopedName} has trigger ${definition.trigger}, not webhook`;
  if (isPublic && definition.exec !== undefined) yield `order ${scopedName} runs a command, which no public webhook may`;
  const missing = missingOf(order, args);
  if (missing.count > 0) yield `args lack what order ${scopedName} requires: ${listed(missing.names, missing.count)}`;
  const unknown = Object.keys(args).filter((name) => !Object.hasOwn(definition.params, name));
  if (unknown.length > 0) yield `order ${scopedName} has no param(s): ${listed(unknown)}`;
}

/** The first reason why a rule fires nothing. */
export function errorOf({ errors }: HookRule): string | undefined {
  const [first] = errors();
  return first;
}

const required = new WeakMap<EffectiveOrder, readonly string[]>();

/** What the order requires and is not given. Thousands of rules may lead to one order with thousands of params: only the first are looked for. */
function missingOf(order: EffectiveOrder, args: Members): { readonly names: readonly string[]; readonly count: number } {
  const { params } = order.definition;
  let all = required.get(order);
  if (all === undefined) {
    all = Object.entries(params).flatMap(([name, param]) => (param.required === true ? [name] : []));
    required.set(order, all);
  }
  const given = Object.keys(args).filter((name) => Object.hasOwn(params, name) && params[name]!.required === true).length;
  // So many come before the first ones that are missing, at the most.
  const names = all.slice(0, given + NAMED).filter((name) => !Object.hasOwn(args, name));
  return { names, count: all.length - given };
}
