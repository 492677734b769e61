import { z } from 'zod';
import { boundedMap } from './bounded-map.js';
import { contract } from './registry.js';
import { dateTime, int64, text, titleOf } from './scalars.js';

export const Dep = contract(
  'Dep',
  z.strictObject({
    depends_on_id: z.string(),
    issue_id: z.string(),
    type: z
      .string()
      .describe(
        '`blocks`, `waits-for`, `conditional-blocks`, `parent-child`, `related`, `relates-to`, `discovered-from`, or `tracks` for members of a convoy.',
      ),
  }),
  'An edge between two beads.',
);
export const BeadClaim = contract(
  'BeadClaim',
  z.strictObject({
    fence: int64,
    attempts: int64.optional().describe('How often the bead was claimed.'),
    lease_until: dateTime.optional(),
  }),
  'The newest claim of a bead. `fence` is what it is told from older ones by, `attempts` says how often the bead was claimed; `lease_until` is there while it lasts. A lease that is extended does ' +
    'not change the revision of the bead.',
);
export const Bead = contract(
  'Bead',
  z.strictObject({
    created_at: dateTime,
    id: z.string().describe('The id: the prefix of the city or the rig, `-`, and a number.'),
    issue_type: z.string(),
    status: z.string().describe('`open`, `in_progress` or `closed`.'),
    title: z.string(),
    assignee: z.string().optional(),
    closed_at: dateTime.optional(),
    defer_until: dateTime.optional(),
    dependencies: z
      .array(Dep)
      .nullable()
      .optional()
      .describe('The edges that begin at it, and members of a convoy. Null is the same as none.'),
    description: z.string().optional().describe('The work in words, as Markdown. 256 KiB at the most.'),
    ephemeral: z.boolean().optional(),
    has_description: z
      .boolean()
      .optional()
      .describe('Whether it has a description. Only in a summary, which leaves that out, and metadata.'),
    from: z.string().optional().describe('Who it comes from.'),
    is_blocked: z.boolean().optional(),
    labels: z.array(z.string()).nullable().optional(),
    metadata: z.record(z.string(), z.string()).optional().describe('Texts by keys. Keys that begin with `gc.` are the service’s own.'),

    needs: z
      .array(z.string())
      .nullable()
      .optional()
      .describe('The beads that have to be closed before it is ready, whether they are or not; `dependencies` has all edges.'),
    no_history: z.boolean().optional(),
    parent: z.string().optional(),
    priority: int64.optional(),
    ref: z.string().optional(),

    revision: int64.optional().describe('Raised by every change. Quoted, it is the ETag.'),

    rig: z.string().optional().describe(`Absent for the city's own.`),
    updated_at: dateTime.optional(),

    claim: BeadClaim.optional().describe('The newest claim, where one bead is read and it has ever been claimed.'),
  }),
  'A piece of work.',
);

/** A page of beads; `next_cursor` is there exactly when there are more. */
export const ListBodyBead = contract(
  'ListBodyBead',
  z.strictObject({
    items: z.array(Bead).nullable(),
    total: int64,
    total_is_estimate: z.boolean().optional(),
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).nullable().optional(),
  }),
  'A page of beads.',
);

export type Dep = z.infer<typeof Dep>;
export type Bead = z.infer<typeof Bead>;

/** What clients may put into a bead, with the bounds that keep rows, index entries and events small. */
export const beadTitle = titleOf(500);
export const beadDescription = text.max(256 * 1024);
export const beadType = text.min(1).max(255);
/** A name: of a rig, an agent or a bead. */
export const beadName = text.max(255);
/** 0 is the most urgent; a bead without one counts as 2. */
export const beadPriority = z.int('must be an integer from 0 to 4; a priority cannot be cleared').min(0).max(4);
export const MAX_LABELS = 100;
/** Edges from one bead: each change of it stores all of them as an event. */
export const MAX_EDGES = 5000;
const beadLabel = text.min(1).max(200);
export const beadLabels = z.array(beadLabel).max(MAX_LABELS);
export const MAX_METADATA = 200;
/** An empty value means the same as no entry. The route of a bead is looked up by its name and is bounded as names are. */
export const beadMetadata = boundedMap(
  z.record(text.min(1).max(200), text.max(16 * 1024)),
  MAX_METADATA,
  `must not have more than ${MAX_METADATA} entries`,
).refine((entries) => (entries['gc.routed_to'] ?? '').length <= 255, {
  path: ['gc.routed_to'],
  error: 'must not be longer than 255 characters',
});
