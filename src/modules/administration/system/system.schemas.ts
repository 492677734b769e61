import { z } from 'zod';
import { queryList } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64 } from '../../../contract/scalars.js';

export const SupervisorStartup = contract(
  'SupervisorStartup',
  z.strictObject({
    ready: z.boolean().describe('Whether it has come up.'),
    phase: z.string().optional(),
    phases_completed: z.array(z.string()).nullable().optional(),
  }),
  'How far the process is with coming up.',
);

export const SupervisorHealthOutputBody = contract(
  'SupervisorHealthOutputBody',
  z.strictObject({
    status: z.string().describe('`ok`.'),
    version: z.string(),
    build_id: z.string().optional().describe('The commit that it was built from.'),
    uptime_sec: int64,
    cities_total: int64.describe('How many cities there are; -1 for callers that may not know.'),
    cities_running: int64.describe('How many cities run; -1 for callers that may not know.'),
    packs_lock_sha256: z.string().optional().describe('Always absent here: each city has a `packs.lock` of its own.'),
    startup: SupervisorStartup.optional(),
  }),
  'Whether the process lives. `cities_total` and `cities_running` are -1 for callers that may not know, and while the database does not answer: ' +
    '`startup` is then not ready, with the phase `waiting_for_database`.',
);
export type SupervisorHealth = z.infer<typeof SupervisorHealthOutputBody>;

export const ReadyQuery = z.strictObject({
  exclude: queryList({ max: 20 }).describe(
    'Parts that do not count, such as `queue`: what is accepted while Redis is away is done later, and a balancer that takes every process out has nobody left. ' +
      'A part that there is not is no error.',
  ),
});
export type ReadyQuery = z.infer<typeof ReadyQuery>;
export const SupervisorReadyOutputBody = contract(
  'SupervisorReadyOutputBody',
  z.strictObject({
    status: z.literal('ready').describe('Always `ready`.'),
    parts: z.array(z.string()).nullable().describe('What was asked, such as the database. Null is the same as nothing.'),
  }),
  'The process can serve.',
);
export type SupervisorReady = z.infer<typeof SupervisorReadyOutputBody>;
