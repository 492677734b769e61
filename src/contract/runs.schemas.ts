import { z } from 'zod';
import { contract } from './registry.js';
import { int64 } from './scalars.js';

export const RUN_STATUSES = ['pending', 'active', 'waiting', 'canceling', 'completed', 'failed', 'canceled', 'skipped'] as const;
export const RunStatus = contract('RunStatus', z.enum(RUN_STATUSES), 'How far a run is. The last four are ends.');
export type RunStatus = z.infer<typeof RunStatus>;

export const RunStepStatus = contract(
  'RunStepStatus',
  z.enum(['pending', 'active', 'blocked', 'completed', 'failed', 'skipped', 'canceled']),
  'How far a step is.',
);

/** A run that a request has launched, or found. */
export const RunRef = contract(
  'RunRef',
  z.strictObject({
    run_id: z.string(),
    kind: z.enum(['sling', 'order']).describe('Whether a sling or an order has launched it.'),
    status: RunStatus,
  }),
  'A run that a request has launched, or found.',
);
export type RunRef = z.infer<typeof RunRef>;

export const RunScope = contract(
  'RunScope',
  z.strictObject({ kind: z.enum(['city', 'rig']).describe('`city` or `rig`.'), ref: z.string().describe('The name of that city or rig.') }),
  'Whose formulas it was launched from.',
);
export const RunLastError = contract(
  'RunLastError',
  z.strictObject({ code: z.string().describe('What went wrong, as one word.'), message: z.string().optional() }),
  'What went wrong in a run.',
);

export const Run = contract(
  'Run',
  z.strictObject({
    run_id: z.string(),
    title: z.string(),
    status: RunStatus,
    scope: RunScope,
    formula: z.string().optional(),
    target: z.string().optional().describe('Who carries it out: an agent.'),
    started_at: z.string().optional(),
    updated_at: z.string().optional(),
    last_error: RunLastError.optional().describe('Why it has failed, or what went wrong last.'),

    source_id: z.string().optional().describe('The bead or convoy that it is attached to.'),
    compiler: z.enum(['1', '2']),

    progress: contract(
      'RunProgress',
      z.strictObject({ total: int64.describe('How many steps it has.'), active: int64, closed: int64 }),
      'How far a run is: its steps, those that somebody is at, those that are closed.',
    ).describe('How far it is.'),
  }),
  'A formula that is being carried out, or was. `run_id` is the id of its root bead.',
);
export type Run = z.infer<typeof Run>;
