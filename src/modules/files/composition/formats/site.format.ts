import { prefix } from './city-keys.js';
import type { Format } from './format.js';
import { filled, key, listOf, table } from './values.js';

/** `.gc/site.toml`: what holds on this machine only. */
export const SITE_FORMAT: Format = {
  schema: table({
    workspace_name: key(filled, 'What the city is called here.'),
    workspace_prefix: key(prefix, 'Its prefix here.'),
    rig: key(listOf(table({}, { name: key(filled, 'The rig.'), path: key(filled, 'Where it lies on this machine.') })), 'Where rigs lie.'),
  }),
  unknown: 'warning',
};
