import { z } from 'zod';
import {
  Bead,
  beadDescription,
  beadLabels,
  beadMetadata,
  beadName,
  beadPriority,
  beadTitle,
  beadType,
} from '../../../contract/beads.schemas.js';
import { blockingRead, queryBool, queryEnum, queryFlag, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { instant, text } from '../../../contract/scalars.js';
import { NEED } from './needs.js';

/** `<id>`, or `<type>:<id>` for another kind of dependency than `blocks`. */
const need = text
  .max(300)
  .regex(NEED, 'must be an id, or one of blocks, waits-for, conditional-blocks, related, discovered-from with a colon and an id');

export const BeadCreateInputBody = contract(
  'BeadCreateInputBody',
  z.strictObject({
    title: beadTitle.describe('One line that says what is to be done. Up to 500 characters.'),
    assignee: beadName.trim().min(1).optional().describe('Who is to do it: an agent or another name. Absent: whoever takes it.'),
    defer_until: instant.optional(),
    description: beadDescription.optional(),
    labels: beadLabels.nullable().optional(),
    metadata: beadMetadata.optional(),

    needs: z
      .array(need)
      .max(100)
      .nullable()
      .optional()
      .describe(
        'Its dependencies from the first moment, so that nobody takes it before: an id, or `<type>:<id>` for another edge than `blocks`.',
      ),
    parent: beadName.optional(),
    priority: beadPriority.optional(),
    rig: beadName.optional().describe('The rig that it is for. Absent: the city’s own.'),
    type: beadType.optional().describe('The kind of work: `task` unless given.'),
  }),
  'A new bead.',
);
export type BeadCreateInputBody = z.infer<typeof BeadCreateInputBody>;

export const BeadUpdateBody = contract(
  'BeadUpdateBody',
  z.strictObject({
    assignee: beadName.trim().optional().describe('Who is to have it. An empty text: nobody. Absent: as it is.'),
    defer_until: instant.nullable().optional().describe('It is not ready before then; null: it is not deferred. Absent: as it is.'),
    description: beadDescription.optional().describe('The new description. Absent: as it is.'),
    labels: beadLabels.nullable().optional().describe('Labels to be added. Null is the same as absent.'),
    metadata: beadMetadata.optional().describe('Entries to be set; an empty text takes one away. The others stay.'),
    parent: beadName.nullable().optional().describe('The bead that it is to be part of; null: none. Absent: as it is.'),
    priority: beadPriority.optional().describe('The new priority, from 0 to 4. It cannot be cleared. Absent: as it is.'),
    remove_labels: beadLabels.nullable().optional().describe('Labels to be taken off.'),
    status: z
      .enum(['open', 'in_progress', 'closed'])
      .optional()
      .describe('The new status. `closed` closes it, `open` opens it again. Absent: as it is.'),
    title: beadTitle.optional().describe('The new title, of up to 500 characters. Absent: as it is.'),
    type: beadType.optional().describe('The new kind of work. Absent: as it is.'),
  }),
  'What is to be another thing of a bead. Absent members stay as they are.',
);
export type BeadUpdateBody = z.infer<typeof BeadUpdateBody>;

export const BeadAssignInputBody = contract(
  'BeadAssignInputBody',
  z.strictObject({ assignee: beadName.trim().optional().describe('Who is to have it. Absent or empty: nobody.') }),
  'Who is to have a bead.',
);
export type BeadAssignInputBody = z.infer<typeof BeadAssignInputBody>;
/** `status` and the canonical `assignee`. */
export const AssignedBody = z.record(z.string(), z.string());

export const BeadCloseInputBody = contract(
  'BeadCloseInputBody',
  z.strictObject({
    reason: text
      .max(16 * 1024)
      .optional()
      .describe('Why it is closed; kept on the bead.'),
  }),
  'Why a bead is closed.',
);
export type BeadCloseInputBody = z.infer<typeof BeadCloseInputBody>;

export const BeadLabelsInputBody = contract(
  'BeadLabelsInputBody',
  z.strictObject({ labels: beadLabels.describe('The labels.') }),
  'Labels of a bead.',
);
export type BeadLabelsInputBody = z.infer<typeof BeadLabelsInputBody>;

export const BeadDepsResponse = contract(
  'BeadDepsResponse',
  z.strictObject({ children: z.array(Bead).nullable() }),
  'The children of a bead.',
);

const MAX_TERMS = 20;
const name = queryText({ max: 255 });
const term = z.string().min(1).max(20_000).regex(/^[^=]/, 'must be key or key=value with a key');
const time = instant.optional();

const view = queryEnum(['full', 'summary']).describe(
  'What is told of each: `full` unless given; `summary` leaves out description and metadata, and says with `has_description` whether there is one.',
);

export const BeadsQuery = z.strictObject({
  status: queryEnum(['open', 'in_progress', 'closed']),
  type: name,
  label: name,
  assignee: name,
  rig: name,
  parent: name.describe('Only what is part of this bead.'),
  metadata: z
    .preprocess((v) => (typeof v === 'string' ? [v] : v), z.array(term).max(MAX_TERMS))
    .optional()
    .describe('Only with this entry: `key` or `key=value`. May be given more than once: all have to fit.'),
  text: queryText({ max: 500 }),
  priority: queryInt({ min: 0, max: 4 }).describe('Only of this priority.'),
  blocked: queryFlag().describe('Only what waits for others, or only what does not.'),
  created_after: time.describe('Only what was made later.'),
  created_before: time.describe('Only what was made earlier.'),
  updated_after: time.describe('Only what was changed later.'),
  updated_before: time.describe('Only what was changed earlier.'),
  all: queryBool(),
  sort: queryEnum(['created_at', 'updated_at', 'priority']).describe(
    'The order: made last first (`created_at`, unless given), changed last first, or most urgent first, then the oldest. A cursor belongs to its order.',
  ),
  view,
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  ...blockingRead,
});
export type BeadsQuery = z.infer<typeof BeadsQuery>;

export const ReadyQuery = z.strictObject({
  rig: name,
  assignee: name,
  unassigned: queryBool().describe('Only what nobody has.'),
  routed_to: name.describe('Only what waits for the workers of this agent.'),
  label: name,
  view,
  cursor: queryText(),
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
  ...blockingRead,
});
export type ReadyQuery = z.infer<typeof ReadyQuery>;

export const RemoveQuery = z.strictObject({
  hard: queryBool().describe('Remove it for good; otherwise it is closed.'),
  force: queryBool(),
});
export type RemoveQuery = z.infer<typeof RemoveQuery>;

export const BeadIdParam = text.min(1).max(255).describe('The id of the bead.');
export const LabelParam = text.min(1).max(200).describe('The label.');
