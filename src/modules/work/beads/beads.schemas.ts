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
    title: beadTitle,
    assignee: beadName.trim().min(1).optional(),
    defer_until: instant.optional(),
    description: beadDescription.optional(),
    labels: beadLabels.nullable().optional(),
    metadata: beadMetadata.optional(),
    /** Its dependencies from the first moment: nobody can take it before it waits for them. */
    needs: z.array(need).max(100).nullable().optional(),
    parent: beadName.optional(),
    priority: beadPriority.optional(),
    rig: beadName.optional(),
    type: beadType.optional(),
  }),
);
export type BeadCreateInputBody = z.infer<typeof BeadCreateInputBody>;

export const BeadUpdateBody = contract(
  'BeadUpdateBody',
  z.strictObject({
    assignee: beadName.trim().optional(),
    defer_until: instant.nullable().optional(),
    description: beadDescription.optional(),
    labels: beadLabels.nullable().optional(),
    metadata: beadMetadata.optional(),
    parent: beadName.nullable().optional(),
    priority: beadPriority.optional(),
    remove_labels: beadLabels.nullable().optional(),
    status: z.enum(['open', 'in_progress', 'closed']).optional(),
    title: beadTitle.optional(),
    type: beadType.optional(),
  }),
);
export type BeadUpdateBody = z.infer<typeof BeadUpdateBody>;

export const BeadAssignInputBody = contract('BeadAssignInputBody', z.strictObject({ assignee: beadName.trim().optional() }));
export type BeadAssignInputBody = z.infer<typeof BeadAssignInputBody>;
/** `status` and the canonical `assignee`. */
export const AssignedBody = z.record(z.string(), z.string());

export const BeadCloseInputBody = contract('BeadCloseInputBody', z.strictObject({ reason: text.max(16 * 1024).optional() }));
export type BeadCloseInputBody = z.infer<typeof BeadCloseInputBody>;

export const BeadLabelsInputBody = contract('BeadLabelsInputBody', z.strictObject({ labels: beadLabels }));
export type BeadLabelsInputBody = z.infer<typeof BeadLabelsInputBody>;

export const BeadDepsResponse = contract('BeadDepsResponse', z.strictObject({ children: z.array(Bead).nullable() }));

const MAX_TERMS = 20;
const name = queryText({ max: 255 });
const term = z.string().min(1).max(20_000).regex(/^[^=]/, 'must be key or key=value with a key');
const time = instant.optional();

export const BeadsQuery = z.strictObject({
  status: queryEnum(['open', 'in_progress', 'closed']),
  type: name,
  label: name,
  assignee: name,
  rig: name,
  parent: name,
  metadata: z.preprocess((v) => (typeof v === 'string' ? [v] : v), z.array(term).max(MAX_TERMS)).optional(),
  text: queryText({ max: 500 }),
  priority: queryInt({ min: 0, max: 4 }),
  blocked: queryFlag(),
  created_after: time,
  created_before: time,
  updated_after: time,
  updated_before: time,
  all: queryBool(),
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  ...blockingRead,
});
export type BeadsQuery = z.infer<typeof BeadsQuery>;

export const ReadyQuery = z.strictObject({
  rig: name,
  assignee: name,
  unassigned: queryBool(),
  routed_to: name,
  label: name,
  cursor: queryText(),
  limit: queryInt({ min: 1, max: 1000, default: 100 }),
  ...blockingRead,
});
export type ReadyQuery = z.infer<typeof ReadyQuery>;

export const RemoveQuery = z.strictObject({ hard: queryBool(), force: queryBool() });
export type RemoveQuery = z.infer<typeof RemoveQuery>;

export const BeadIdParam = text.min(1).max(255);
export const LabelParam = text.min(1).max(200);
