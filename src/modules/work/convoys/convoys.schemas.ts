import { z } from 'zod';
import { Bead, beadDescription, beadLabels, beadName, beadTitle } from '../../../contract/beads.schemas.js';
import { blockingRead, queryBool, queryFlag, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';

const visible = /\S/;
const line = beadName.regex(visible);
const items = z.array(beadName.min(1)).max(1000).nullable().optional();

export const ConvoyIdParam = z.string().min(1);

/** How what a convoy's beads have made is brought to its target. */
const merge = z.enum(['direct', 'mr', 'local']);

export const ConvoyCreateInputBody = contract(
  'ConvoyCreateInputBody',
  z.strictObject({
    title: beadTitle,
    rig: beadName.optional(),
    items,
    description: beadDescription.optional(),
    labels: beadLabels.optional(),
    /** Who looks after it. */
    owner: line.optional(),
    /** The mail address to tell when it has closed. */
    notify: line.optional(),
    /** True for a convoy that its owner lands: it does not close by itself. */
    owned: z.boolean().optional(),
    merge: merge.optional(),
    /** The branch that its beads are for. */
    target: line.optional(),
  }),
);
export type ConvoyCreateInputBody = z.infer<typeof ConvoyCreateInputBody>;

/** The convoy; `closed_items` are those of the request that were closed already. */
export const ConvoyCreateOutputBody = contract(
  'ConvoyCreateOutputBody',
  z.strictObject({ ...Bead.shape, closed_items: z.array(z.string()).optional() }),
);
export type ConvoyCreateOutputBody = z.infer<typeof ConvoyCreateOutputBody>;

export const ConvoyAddInputBody = contract('ConvoyAddInputBody', z.strictObject({ items }));
export type ConvoyAddInputBody = z.infer<typeof ConvoyAddInputBody>;

export const ConvoyAddOutputBody = contract(
  'ConvoyAddOutputBody',
  z.strictObject({ status: z.string(), closed_items: z.array(z.string()).optional() }),
);
export type ConvoyAddOutputBody = z.infer<typeof ConvoyAddOutputBody>;

export const ConvoyRemoveInputBody = contract('ConvoyRemoveInputBody', z.strictObject({ items }));
export type ConvoyRemoveInputBody = z.infer<typeof ConvoyRemoveInputBody>;

export const ConvoyCloseInputBody = contract(
  'ConvoyCloseInputBody',
  z.strictObject({
    reason: text
      .max(16 * 1024)
      .regex(visible)
      .optional(),
  }),
);
export type ConvoyCloseInputBody = z.infer<typeof ConvoyCloseInputBody>;

export const ConvoyLandInputBody = contract(
  'ConvoyLandInputBody',
  z.strictObject({ force: z.boolean().optional(), dry_run: z.boolean().optional() }),
);
export type ConvoyLandInputBody = z.infer<typeof ConvoyLandInputBody>;

export const ConvoyLandResponse = contract(
  'ConvoyLandResponse',
  z.strictObject({
    status: z.enum(['landed', 'would_land']),
    convoy_id: z.string(),
    total: int64,
    closed: int64,
    /** Members that were open when it landed. */
    open_items: z.array(z.string()),
  }),
);
export type ConvoyLandResponse = z.infer<typeof ConvoyLandResponse>;

export const ConvoyProgress = contract('ConvoyProgress', z.strictObject({ total: int64, closed: int64 }));
export const ConvoyGetResponse = contract(
  'ConvoyGetResponse',
  z.strictObject({ convoy: Bead.optional(), children: z.array(Bead).nullable().optional(), progress: ConvoyProgress.optional() }),
);

export const ConvoyCheckResponse = contract(
  'ConvoyCheckResponse',
  z.strictObject({ convoy_id: z.string(), total: int64, closed: int64, complete: z.boolean() }),
);
export type ConvoyCheckResponse = z.infer<typeof ConvoyCheckResponse>;

export const ConvoysQuery = z.strictObject({
  all: queryBool(),
  rig: queryText(),
  owned: queryFlag(),
  stranded: queryFlag(),
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  ...blockingRead,
});
export type ConvoysQuery = z.infer<typeof ConvoysQuery>;
