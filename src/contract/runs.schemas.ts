import { z } from 'zod';
import { contract } from './registry.js';
import { int64 } from './scalars.js';

export const RUN_STATUSES = ['pending', 'active', 'waiting', 'canceling', 'completed', 'failed', 'canceled', 'skipped'] as const;
export const RunStatus = contract('RunStatus', z.enum(RUN_STATUSES));
export type RunStatus = z.infer<typeof RunStatus>;

export const RunStepStatus = contract(
  'RunStepStatus',
  z.enum(['pending', 'active', 'blocked', 'completed', 'failed', 'skipped', 'canceled']),
);

/** A run that a request has launched, or found. */
export const RunRef = contract('RunRef', z.strictObject({ run_id: z.string(), kind: z.enum(['sling', 'order']), status: RunStatus }));
export type RunRef = z.infer<typeof RunRef>;

export const RunScope = contract(
  'RunScope',
  z.strictObject({ kind: z.enum(['city', 'rig']), ref: z.string() }),
  'Whose formulas it was launched from.',
);
export const RunLastError = contract('RunLastError', z.strictObject({ code: z.string(), message: z.string().optional() }));

export const Run = contract(
  'Run',
  z.strictObject({
    run_id: z.string(),
    title: z.string(),
    status: RunStatus,
    scope: RunScope,
    formula: z.string().optional(),
    target: z.string().optional(),
    started_at: z.string().optional(),
    updated_at: z.string().optional(),
    last_error: RunLastError.optional(),
    /** The bead or convoy that it is attached to. */
    source_id: z.string().optional(),
    compiler: z.enum(['1', '2']),
    /** How far it is: its steps, those that somebody is at, those that are closed. */
    progress: contract('RunProgress', z.strictObject({ total: int64, active: int64, closed: int64 })),
  }),
  'A formula that is being carried out, or was. `run_id` is the id of its root bead.',
);
export type Run = z.infer<typeof Run>;
