import { z } from 'zod';
import { contract } from './registry.js';
import { dateTime, int64 } from './scalars.js';

export const Dep = contract('Dep', z.strictObject({ depends_on_id: z.string(), issue_id: z.string(), type: z.string() }));
export const Bead = contract(
  'Bead',
  z.strictObject({
    created_at: dateTime,
    id: z.string(),
    issue_type: z.string(),
    status: z.string(),
    title: z.string(),
    assignee: z.string().optional(),
    closed_at: dateTime.optional(),
    defer_until: dateTime.optional(),
    dependencies: z.array(Dep).nullable().optional(),
    description: z.string().optional(),
    ephemeral: z.boolean().optional(),
    from: z.string().optional(),
    is_blocked: z.boolean().optional(),
    labels: z.array(z.string()).nullable().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    needs: z.array(z.string()).nullable().optional(),
    no_history: z.boolean().optional(),
    parent: z.string().optional(),
    priority: int64.optional(),
    ref: z.string().optional(),
    /** Raised by every change; the ETag. */
    revision: int64.optional(),
    /** Absent for the city's own. */
    rig: z.string().optional(),
    updated_at: dateTime.optional(),
  }),
);

/** A page of beads; `total` counts all that match, `next_cursor` is there exactly when there are more. */
export const ListBodyBead = contract(
  'ListBodyBead',
  z.strictObject({
    items: z.array(Bead).nullable(),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
);

export type Dep = z.infer<typeof Dep>;
export type Bead = z.infer<typeof Bead>;
