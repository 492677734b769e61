import { parseDuration } from '../../../contract/duration.js';
import type { CityConfig, OrderConfig } from '../../files/composition/city-config.js';
import { REQUIRED_BY_TRIGGER } from '../../files/composition/formats/order.format.js';
import { shortened } from './listed.js';
import { Overrides } from './order-overrides.js';

export const TRIGGERS = ['cooldown', 'cron', 'condition', 'event', 'manual', 'webhook'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** An order as it is carried out: its file with what the city's overrides say of it. Times are milliseconds. */
export interface OrderDefinition {
  readonly file: string;
  readonly description?: string;
  readonly exec?: string;
  readonly formula?: string;
  readonly pool?: string;
  readonly trigger: Trigger;
  readonly interval?: number;
  readonly schedule?: string;
  readonly tz: string;
  readonly check?: string;
  readonly check_timeout: number;
  readonly on?: string;
  readonly delivery: 'each' | 'coalesce';
  readonly catch_up: 'once' | 'none';
  readonly params: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly timeout: number;
  readonly idempotent: boolean;
  readonly env: Readonly<Record<string, string>>;
}

export interface Origin {
  readonly file: string;
  readonly key: string;
}

export interface EffectiveOrder {
  readonly name: string;
  /** '' for an order of the city. */
  readonly rig: string;
  readonly scopedName: string;
  readonly pack: string;
  readonly definition: OrderDefinition;
  /** Durations as they are written. */
  readonly written: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
  /** Why it cannot be fired although it is there. */
  readonly errors: readonly string[];
  /** Where each key was written. */
  readonly origins: Readonly<Record<string, Origin>>;
}

export interface CityOrders {
  /** By name, those of the city before those of rigs. */
  readonly orders: readonly EffectiveOrder[];
  readonly byScopedName: ReadonlyMap<string, EffectiveOrder>;
  /** Overrides that match nothing, as many as are told. */
  readonly errors: readonly string[];
}

interface OrdersTable {
  readonly skip?: readonly string[];
  readonly max_timeout?: string;
  readonly overrides?: readonly Readonly<Record<string, unknown>>[];
}
type Members = Record<string, unknown>;

const EXEC_MS = 300_000;
const CHECK_MS = 10_000;
/** Keys of an override that replace those of the file; `env` is added to. */
const REPLACED = ['enabled', 'trigger', 'interval', 'schedule', 'check', 'on', 'pool', 'timeout', 'check_timeout', 'idempotent'] as const;

export function scopedNameOf(name: string, rig: string): string {
  return rig === '' ? name : `${name}:rig:${rig}`;
}

const known = new WeakMap<CityConfig, CityOrders>();

/** The orders of a composed city. */
export function ordersOf(config: CityConfig): CityOrders {
  let orders = known.get(config);
  if (orders === undefined) known.set(config, (orders = read(config)));
  return orders;
}

function read(config: CityConfig): CityOrders {
  const table = (config.orders ?? {}) as OrdersTable;
  const skipped = new Set(table.skip ?? []);
  const overrides = new Overrides(table.overrides ?? []);
  const formulas = new Set(config.formulas.map(({ name, rig }) => placeOf(name, rig)));
  const orders: EffectiveOrder[] = [];
  for (const { entry, rig } of placed(config)) {
    const aliases = (entry.order?.skip_aliases ?? []) as readonly string[];
    if ([entry.name, scopedNameOf(entry.name, rig), ...aliases].some((name) => skipped.has(name))) continue;
    orders.push(effective(config, entry, rig, overrides, formulas));
  }
  const errors = overrides.unmatched(orders);
  orders.sort((a, b) => (a.rig === b.rig ? compare(a.name, b.name) : compare(a.rig, b.rig)));
  return { orders, byScopedName: new Map(orders.map((order) => [order.scopedName, order])), errors };
}

const placeOf = (name: string, rig: string): string => `${rig}\n${name}`;
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Which file stands for which order. One for the city that several rigs bring counts once, and the city's own first. */
function placed({ order_files: files }: CityConfig): { entry: OrderConfig; rig: string }[] {
  const found = new Map<string, { entry: OrderConfig; rig: string }>();
  const ofCity = files.filter(({ rig }) => rig === '');
  for (const entry of [...ofCity, ...files.filter(({ rig }) => rig !== '')]) {
    if (entry.order === undefined) continue;
    // Nothing is done for a rig that is none's.
    if (entry.rig === '' && entry.order.scope === 'rig') continue;
    const rig = entry.order.scope === 'city' ? '' : entry.rig;
    const key = scopedNameOf(entry.name, rig);
    if (!found.has(key)) found.set(key, { entry, rig });
  }
  return [...found.values()];
}

function effective(
  config: CityConfig,
  entry: OrderConfig,
  rig: string,
  overrides: Overrides,
  formulas: ReadonlySet<string>,
): EffectiveOrder {
  const members: Members = { ...entry.order };
  if (members.trigger === undefined && members.gate !== undefined) members.trigger = members.gate;
  delete members.gate;
  const origins: Record<string, Origin> = {};
  for (const key of Object.keys(members)) origins[key] = { file: entry.file, key: `order.${key}` };
  const envs: object[] = [];
  for (const { n, members: override } of overrides.of(entry.name, rig)) {
    for (const key of REPLACED) {
      const value = override[key] ?? (key === 'trigger' ? override.gate : undefined);
      if (value === undefined) continue;
      members[key] = value;
      origins[key] = { file: 'city.toml', key: `orders.overrides[${n}].${key}` };
    }
    if (override.env !== undefined) {
      envs.push(override.env as object);
      origins.env = { file: 'city.toml', key: `orders.overrides[${n}].env` };
    }
  }
  // All at once: with each of many overrides the ones before would be copied again.
  if (envs.length > 0) {
    const all = [(members.env ?? {}) as object, ...envs];
    members.env = Object.fromEntries(all.flatMap((env) => Object.entries(env)));
  }
  if (members.tz === undefined && config.workspace.timezone !== undefined) {
    members.tz = config.workspace.timezone;
    origins.tz = { file: 'city.toml', key: 'workspace.timezone' };
  }
  return {
    name: entry.name,
    rig,
    scopedName: scopedNameOf(entry.name, rig),
    pack: entry.pack,
    definition: definitionOf(members, entry.file, config),
    written: members,
    enabled: members.enabled !== false,
    errors: errorsOf(members, formulas, rig),
    origins,
  };
}

function definitionOf(members: Members, file: string, { orders }: CityConfig): OrderDefinition {
  const limit = msOf((orders as OrdersTable | undefined)?.max_timeout) ?? Infinity;
  const text = <K extends string>(key: K): { readonly [P in K]?: string } =>
    (members[key] === undefined ? {} : { [key]: members[key] as string }) as { readonly [P in K]?: string };
  const interval = msOf(members.interval);
  return {
    file,
    ...text('description'),
    ...text('exec'),
    ...text('formula'),
    ...text('pool'),
    trigger: members.trigger as Trigger,
    ...(interval === undefined ? {} : { interval }),
    ...text('schedule'),
    tz: (members.tz as string | undefined) ?? 'UTC',
    ...text('check'),
    check_timeout: msOf(members.check_timeout) ?? CHECK_MS,
    ...text('on'),
    delivery: members.delivery === 'coalesce' ? 'coalesce' : 'each',
    catch_up: members.catch_up === 'none' ? 'none' : 'once',
    params: (members.params ?? {}) as OrderDefinition['params'],
    timeout: Math.min(msOf(members.timeout) ?? EXEC_MS, limit),
    idempotent: members.idempotent === true,
    env: (members.env ?? {}) as Readonly<Record<string, string>>,
  };
}

function msOf(written: unknown): number | undefined {
  const ms = typeof written === 'string' ? parseDuration(written) : undefined;
  return ms === undefined || ms <= 0 ? undefined : Math.ceil(ms);
}

/** What a file could not know: an override may ask for another trigger, and names lead somewhere or not. */
function errorsOf(members: Members, formulas: ReadonlySet<string>, rig: string): string[] {
  const errors: string[] = [];
  const trigger = members.trigger as Trigger;
  const needed = REQUIRED_BY_TRIGGER[trigger];
  if (needed !== undefined && members[needed] === undefined) errors.push(`${needed} is required with trigger ${trigger}`);
  if (members.formula !== undefined) {
    const wanted = members.formula as string;
    if (!formulas.has(placeOf(wanted, '')) && !formulas.has(placeOf(wanted, rig))) errors.push(`formula ${shortened(wanted)} not found`);
  }
  if (members.env !== undefined && members.exec === undefined) errors.push('env is supported only for exec orders');
  if (members.pool !== undefined && members.exec !== undefined) errors.push('exec orders cannot have a pool');
  return errors;
}

/** Whether it can be fired. */
export function isFireable({ errors }: Pick<EffectiveOrder, 'errors'>): boolean {
  return errors.length === 0;
}
