import { z } from 'zod';
import { contract } from './registry.js';

const MAX_HOSTS = 200;
const HOST = /^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i;

/** What agents reach: everything, our API alone, or beside it hosts by name; `*.` stands for all names below one. */
export const NetworkRule = contract(
  'NetworkRule',
  z.union(
    [z.enum(['all', 'api']), z.array(z.string().max(253).regex(HOST)).max(MAX_HOSTS)],
    `must be "all", "api", or a list of up to ${MAX_HOSTS} hosts such as "example.com" or "*.example.com"`,
  ),
  'What agents reach: everything (`all`), our API alone (`api`), or beside it these hosts by name; `*.` stands for all names below one.',
);
export type NetworkRule = z.infer<typeof NetworkRule>;
