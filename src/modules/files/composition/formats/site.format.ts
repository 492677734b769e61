import { prefix } from './city-keys.js';
import type { Format } from './format.js';
import { filled, listOf, table } from './values.js';

/** `.gc/site.toml`: what holds on this machine only. */
export const SITE_FORMAT: Format = {
  schema: table({ workspace_name: filled, workspace_prefix: prefix, rig: listOf(table({}, { name: filled, path: filled })) }),
  unknown: 'warning',
};
