import { z } from 'zod';
import { contract } from './registry.js';
import { dateTime, int64, text } from './scalars.js';

export const Dep = contract('Dep', z.strictObject({ depends_on_id: z.string(), issue_id: z.string(), type: z.string() }));
export const BeadClaim = contract(
  'BeadClaim',
  z.strictObject({ fence: int64, attempts: int64.optional(), lease_until: dateTime.optional() }),
  'The newest claim of a bead. `fence` is what it is told from older ones by, `attempts` says how often the bead was claimed; `lease_until` is there while it lasts. A lease that is extended does ' +
    'not change the revision of the bead.',
);
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
    /** The beads that have to be closed before it is ready, whether they are or not; `dependencies` has all edges. */
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
    /** Where one bead is read, once it has been claimed. */
    claim: BeadClaim.optional(),
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

/** What clients may put into a bead, with the bounds that keep rows, index entries and events small. */
export const beadTitle = text.min(1).max(500);
export const beadDescription = text.max(256 * 1024);
export const beadType = text.min(1).max(255);
/** A name: of a rig, an agent or a bead. */
export const beadName = text.max(255);
/** 0 is the most urgent; a bead without one counts as 2. */
export const beadPriority = z.int('must be an integer from 0 to 4; a priority cannot be cleared').min(0).max(4);
export const MAX_LABELS = 100;
export const beadLabel = text.min(1).max(200);
export const beadLabels = z.array(beadLabel).max(MAX_LABELS);
export const MAX_METADATA = 200;
/** An empty value means the same as no entry. The route of a bead is looked up by its name and is bounded as names are. */
export const beadMetadata = z
  .record(text.min(1).max(200), text.max(16 * 1024))
  .refine((entries) => Object.keys(entries).length <= MAX_METADATA, `must not have more than ${MAX_METADATA} entries`)
  .refine((entries) => (entries['gc.routed_to'] ?? '').length <= 255, {
    path: ['gc.routed_to'],
    error: 'must not be longer than 255 characters',
  });
