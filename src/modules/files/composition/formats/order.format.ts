import { z } from 'zod';
import type { Format } from './format.js';
import { trigger } from './subsystem-keys.js';
import { filled, flag, former, idle, key, named, oneOf, rule, schedule, table, text, texts, time, zone } from './values.js';

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
  description: key(text, 'What it does, as lists show it.'),
  formula: key(filled, 'Formula that is run, instead of `exec`.'),
  exec: key(filled, 'Line of shell that a worker runs in the city, or in the rig.'),
  scope: key(oneOf('city', 'rig'), 'Of a pack: once in the city, or once in each rig that has the pack.'),
  trigger: key(trigger, 'What fires it.'),
  gate: former(trigger, 'trigger'),
  interval: key(time, 'For `cooldown`: so long after the last firing began. For `condition`: how often `check` is run.'),
  schedule: key(schedule, 'For `cron`: minute, hour, day of the month, month, day of the week. Both days have to fit.'),
  tz: key(zone, 'Clock of the schedule. Without it `workspace.timezone`, else UTC.'),
  check: key(filled, 'For `condition`: line of shell whose exit 0 fires the order.'),
  on: key(filled, 'For `event`: kind of event, such as `bead.closed`.'),
  delivery: key(oneOf('each', 'coalesce'), 'For `event`: a firing for `each` event, or `coalesce` for one of all that wait.', 'each'),
  catch_up: key(oneOf('once', 'none'), 'For `cron`: whether a time that was missed is made up for, `once` or not at all.', 'once'),
  pool: key(text, 'For `formula`: agent or pool that does its steps.'),
  timeout: key(time, 'After so long a command has failed. The launch of a formula has no limit.', '5m'),
  check_timeout: key(time, 'After so long a check has failed.', '10s'),
  enabled: key(flag, 'Whether it fires; `svc order enable` and `disable` are switches beside the file.', true),
  idempotent: key(flag, 'Whether a firing is begun again when its host is lost.', false),
  no_work_gate: idle(flag, 'Fires it also where there is no work.'),
  env: key(ownEnv, 'Variables of the command.'),
  params: key(
    named(table({ required: key(flag, 'Whether nothing is fired without it.', false) }), param),
    'Values that a firing may be given: `svc order run --var`, `args` of a webhook. Commands get them as `SVC_VAR_NAME`.',
  ),
  skip_aliases: key(texts, 'Further names under which `[orders] skip` leaves it out.'),
});

type Members = Readonly<Record<string, unknown>>;

const triggerOf = (members: Members): unknown => members.trigger ?? members.gate;
const has = (members: Members, key: string): boolean => members[key] !== undefined;

const isEmpty = (value: unknown): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** The key that each trigger cannot do without. */
export const REQUIRED_BY_TRIGGER: Readonly<Record<string, string>> = {
  cooldown: 'interval',
  cron: 'schedule',
  condition: 'check',
  event: 'on',
  webhook: 'params',
};

/** Keys that say nothing with any other trigger. */
export const ONLY_WITH: Readonly<Record<string, readonly string[]>> = {
  interval: ['cooldown', 'condition'],
  schedule: ['cron'],
  tz: ['cron'],
  catch_up: ['cron'],
  check: ['condition'],
  check_timeout: ['condition'],
  on: ['event'],
  delivery: ['event'],
};

const RULES: readonly (readonly [key: string, message: string, holds: (members: Members) => boolean])[] = [
  ['formula', 'either formula or exec is required', (it) => has(it, 'formula') || has(it, 'exec')],
  ['exec', 'formula and exec exclude each other', (it) => !has(it, 'formula') || !has(it, 'exec')],
  ['env', 'is for orders with exec only', (it) => !has(it, 'env') || has(it, 'exec')],
  ['pool', 'is for orders with formula only', (it) => !has(it, 'pool') || !has(it, 'exec')],
  ['trigger', 'is required', (it) => triggerOf(it) !== undefined],
  ['params', 'must name at least one for trigger webhook', (it) => triggerOf(it) !== 'webhook' || !isEmpty(it.params)],
  ...Object.entries(REQUIRED_BY_TRIGGER).map(
    ([kind, key]) => [key, `is required with trigger ${kind}`, (it: Members) => triggerOf(it) !== kind || has(it, key)] as const,
  ),
];

/** The same for a JSON Schema. */
const SHAPE = {
  oneOf: [
    { required: ['exec'], not: { required: ['pool'] } },
    { required: ['formula'], not: { required: ['env'] } },
  ],
  anyOf: [{ required: ['trigger'] }, { required: ['gate'] }],
  allOf: Object.entries(REQUIRED_BY_TRIGGER).map(([kind, needed]) => ({
    if: { properties: { trigger: { const: kind } }, required: ['trigger'] },
    then: { required: [needed] },
  })),
};

/** `orders/<name>.toml`. */
export const ORDER_FORMAT: Format = {
  schema: table(
    {},
    {
      order: key(
        RULES.reduce((schema, [at, message, holds]) => rule(schema, at, message, holds), order).meta(SHAPE),
        "The order; its name is the file's.",
      ),
    },
  ),
  unknown: 'warning',
  renamed: [{ table: 'order', old: 'gate', now: 'trigger' }],
};
