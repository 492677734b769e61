import { z } from 'zod';
import { Bead, beadDescription, beadLabels, beadName, beadTitle } from '../../../contract/beads.schemas.js';
import { blockingRead, queryBool, queryFlag, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';

const visible = /\S/;
const line = beadName.regex(visible);
const items = z.array(beadName.min(1)).max(1000).nullable().optional();

export const ConvoyIdParam = z.string().min(1).describe('The id of the convoy.');

/** How what a convoy's beads have made is brought to its target. */
const merge = z.enum(['direct', 'mr', 'local']);

export const ConvoyCreateInputBody = contract(
  'ConvoyCreateInputBody',
  z.strictObject({
    title: beadTitle.describe('What it is for, in one line.'),
    rig: beadName.optional(),
    items: items.describe('The ids of its first members. Null is the same as none.'),
    description: beadDescription.optional(),
    labels: beadLabels.optional(),

    owner: line.optional().describe('Who looks after it; noted on it as `convoy.owner`, and not looked up.'),

    notify: line.optional().describe('Who gets a mail when it has closed: an address of the city. One that names nobody is passed over.'),

    owned: z.boolean().optional().describe('True for a convoy that its owner lands: it does not close by itself.'),
    merge: merge.optional(),

    target: line.optional().describe('The branch that its beads are for.'),
  }),
  'A new convoy.',
);
export type ConvoyCreateInputBody = z.infer<typeof ConvoyCreateInputBody>;

/** The convoy; `closed_items` are those of the request that were closed already. */
export const ConvoyCreateOutputBody = contract(
  'ConvoyCreateOutputBody',
  z.strictObject({ ...Bead.shape, closed_items: z.array(z.string()).optional() }),
  'The new convoy, which is a bead.',
);
export type ConvoyCreateOutputBody = z.infer<typeof ConvoyCreateOutputBody>;

export const ConvoyAddInputBody = contract(
  'ConvoyAddInputBody',
  z.strictObject({ items: items.describe('The ids of the beads that are to be members.') }),
  'Who are to be members.',
);
export type ConvoyAddInputBody = z.infer<typeof ConvoyAddInputBody>;

export const ConvoyAddOutputBody = contract(
  'ConvoyAddOutputBody',
  z.strictObject({ status: z.string().describe('Always `updated`.'), closed_items: z.array(z.string()).optional() }),
  'They are members.',
);
export type ConvoyAddOutputBody = z.infer<typeof ConvoyAddOutputBody>;

export const ConvoyRemoveInputBody = contract(
  'ConvoyRemoveInputBody',
  z.strictObject({ items: items.describe('The ids of the beads that are no longer to be members.') }),
  'Who are to be members no more.',
);
export type ConvoyRemoveInputBody = z.infer<typeof ConvoyRemoveInputBody>;

export const ConvoyCloseInputBody = contract(
  'ConvoyCloseInputBody',
  z.strictObject({
    reason: text
      .max(16 * 1024)
      .regex(visible)
      .optional()
      .describe('Why it is closed; kept on it.'),
  }),
  'Why a convoy is closed.',
);
export type ConvoyCloseInputBody = z.infer<typeof ConvoyCloseInputBody>;

export const ConvoyLandInputBody = contract(
  'ConvoyLandInputBody',
  z.strictObject({ force: z.boolean().optional().describe('Land it although members are open.'), dry_run: z.boolean().optional() }),
  'How a convoy is landed.',
);
export type ConvoyLandInputBody = z.infer<typeof ConvoyLandInputBody>;

/** Of a convoy with any number of members. */
export const OPEN_ITEMS = 1_000;
export const ConvoyLandResponse = contract(
  'ConvoyLandResponse',
  z.strictObject({
    status: z.enum(['landed', 'would_land']).describe('`landed`, or `would_land` in a dry run.'),
    convoy_id: z.string(),
    total: int64.describe('How many members it has.'),
    closed: int64,
    open_items: z
      .array(z.string())
      .describe(`Members that were open when it landed, the first ${OPEN_ITEMS.toLocaleString('en')} of them by id.`),
  }),
  'The convoy has landed, or would.',
);
export type ConvoyLandResponse = z.infer<typeof ConvoyLandResponse>;

export const ConvoyProgress = contract(
  'ConvoyProgress',
  z.strictObject({ total: int64.describe('How many members it has.'), closed: int64 }),
  'How far a convoy is.',
);
export const ConvoyGetResponse = contract(
  'ConvoyGetResponse',
  z.strictObject({ convoy: Bead.optional(), children: z.array(Bead).nullable().optional(), progress: ConvoyProgress.optional() }),
  'A convoy with its members.',
);

export const ConvoyCheckResponse = contract(
  'ConvoyCheckResponse',
  z.strictObject({
    convoy_id: z.string(),
    total: int64.describe('How many members it has.'),
    closed: int64,
    complete: z.boolean().describe('True when every member is closed, and there is one.'),
  }),
  'Whether all members of a convoy are closed.',
);
export type ConvoyCheckResponse = z.infer<typeof ConvoyCheckResponse>;

export const ConvoysQuery = z.strictObject({
  all: queryBool(),
  rig: queryText(),
  owned: queryFlag().describe('Only those that their owners land, or only the others.'),
  stranded: queryFlag().describe('Only those with an open member that nobody has, or only the others.'),
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  ...blockingRead,
});
export type ConvoysQuery = z.infer<typeof ConvoysQuery>;
