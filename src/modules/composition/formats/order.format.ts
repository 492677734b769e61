import type { Format } from './format.js';
import { trigger } from './subsystem-keys.js';
import { duration, filled, flag, map, named, oneOf, table, text, texts, zone } from './values.js';

const order = table({
  description: text,
  formula: filled,
  exec: filled,
  scope: oneOf('city', 'rig'),
  trigger,
  gate: trigger,
  interval: duration,
  schedule: text,
  tz: zone,
  check: text,
  on: text,
  pool: text,
  timeout: duration,
  check_timeout: duration,
  enabled: flag,
  idempotent: flag,
  no_work_gate: flag,
  env: map,
  params: named(table({ required: flag })),
  skip_aliases: texts,
});

/** `orders/<name>.toml`. */
export const ORDER_FORMAT: Format = {
  schema: table({}, { order }),
  unknown: 'warning',
  renamed: [{ table: 'order', old: 'gate', now: 'trigger' }],
};
