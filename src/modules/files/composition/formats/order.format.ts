import { z } from 'zod';
import { parseDuration } from './duration.js';
import type { Format } from './format.js';
import { trigger } from './subsystem-keys.js';
import { filled, flag, named, oneOf, rule, schedule, table, text, texts, zone } from './values.js';

/** An order is nothing without its times, so one that cannot be read refuses it. */
const time = z.string().refine((written) => (parseDuration(written) ?? 0) > 0, 'must be a positive duration such as 90s or 1h30m');

/** Names that tell a command where it runs are not an order's to set. */
const ownEnv = z.record(
  z.string().regex(/^(?!(?:SVC|GC|BEADS|BD)_|(?:ORDER|PACK)_DIR$)[^=\0]+$/, 'is set by the supervisor, is empty or contains ='),
  z.string(),
);

/** Becomes the name of a variable. */
const param = z
  .string()
  .max(64)
  .regex(/^[A-Za-z_]\w*$/, 'must be a name such as ref: letters, figures and _');

const order = table({
  description: text,
  formula: filled,
  exec: filled,
  scope: oneOf('city', 'rig'),
  trigger,
  gate: trigger,
  interval: time,
  schedule,
  tz: zone,
  check: filled,
  on: filled,
  delivery: oneOf('each', 'coalesce'),
  catch_up: oneOf('once', 'none'),
  pool: text,
  timeout: time,
  check_timeout: time,
  enabled: flag,
  idempotent: flag,
  no_work_gate: flag,
  env: ownEnv,
  params: named(table({ required: flag }), param),
  skip_aliases: texts,
});

type Members = Readonly<Record<string, unknown>>;

const triggerOf = (members: Members): unknown => members.trigger ?? members.gate;
const has = (members: Members, key: string): boolean => members[key] !== undefined;

const isEmpty = (value: unknown): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** What each trigger cannot do without. */
const NEEDS: Readonly<Record<string, string>> = {
  cooldown: 'interval',
  cron: 'schedule',
  condition: 'check',
  event: 'on',
  webhook: 'params',
};

const RULES: readonly (readonly [key: string, message: string, holds: (members: Members) => boolean])[] = [
  ['formula', 'either formula or exec is required', (it) => has(it, 'formula') || has(it, 'exec')],
  ['exec', 'formula and exec exclude each other', (it) => !has(it, 'formula') || !has(it, 'exec')],
  ['env', 'is for orders with exec only', (it) => !has(it, 'env') || has(it, 'exec')],
  ['pool', 'is for orders with formula only', (it) => !has(it, 'pool') || !has(it, 'exec')],
  ['trigger', 'is required', (it) => triggerOf(it) !== undefined],
  ['params', 'must name at least one for trigger webhook', (it) => triggerOf(it) !== 'webhook' || !isEmpty(it.params)],
  ...Object.entries(NEEDS).map(
    ([kind, key]) => [key, `is required with trigger ${kind}`, (it: Members) => triggerOf(it) !== kind || has(it, key)] as const,
  ),
];

/** `orders/<name>.toml`. */
export const ORDER_FORMAT: Format = {
  schema: table({}, { order: RULES.reduce((schema, [key, message, holds]) => rule(schema, key, message, holds), order) }),
  unknown: 'warning',
  renamed: [{ table: 'order', old: 'gate', now: 'trigger' }],
};
