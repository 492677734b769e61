import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { int64 } from '../../../contract/scalars.js';

export const SupervisorStartup = contract(
  'SupervisorStartup',
  z.strictObject({ ready: z.boolean(), phase: z.string().optional(), phases_completed: z.array(z.string()).nullable().optional() }),
);

export const SupervisorHealthOutputBody = contract(
  'SupervisorHealthOutputBody',
  z.strictObject({
    status: z.string(),
    version: z.string(),
    build_id: z.string().optional(),
    uptime_sec: int64,
    cities_total: int64,
    cities_running: int64,
    packs_lock_sha256: z.string().optional(),
    startup: SupervisorStartup.optional(),
  }),
  'Whether the process lives. `cities_total` and `cities_running` are -1 for callers that may not know, and while the database does not answer: ' +
    '`startup` is then not ready, with the phase `waiting_for_database`.',
);
export type SupervisorHealth = z.infer<typeof SupervisorHealthOutputBody>;

export const SupervisorReadyOutputBody = contract(
  'SupervisorReadyOutputBody',
  z.strictObject({ status: z.literal('ready'), parts: z.array(z.string()).nullable() }),
);
export type SupervisorReady = z.infer<typeof SupervisorReadyOutputBody>;
