import { z } from 'zod';
import { Bead, beadLabels, beadTitle } from '../../../contract/beads.schemas.js';
import { blockingRead, queryBool, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';

const name = text.max(500);

export const MoleculeIdParam = z.string().min(1).max(255);

export const MoleculeCreateInputBody = contract(
  'MoleculeCreateInputBody',
  z.strictObject({
    formula: name.min(1),
    /** Whom it is for. A graph needs somebody; a tree may be for nobody in particular. */
    target: name.optional(),
    /** Whose formula it is, and where its beads are; the city's own without. */
    rig: name.optional(),
    vars: z.record(text.max(128), text).optional(),
    title: beadTitle.optional(),
    labels: beadLabels.optional(),
    /** The bead that it is for: it has one live run of the formula. */
    attached_bead_id: name.optional(),
    /** Ends the live runs of that bead. */
    force: z.boolean().optional(),
  }),
);
export type MoleculeCreateInputBody = z.infer<typeof MoleculeCreateInputBody>;

export const MoleculeCreateOutputBody = contract(
  'MoleculeCreateOutputBody',
  z.strictObject({ ...Bead.shape, created: z.boolean(), steps: int64 }),
  'The root. `created` is false when the bead had this run already.',
);
export type MoleculeCreateOutputBody = z.infer<typeof MoleculeCreateOutputBody>;

export const MoleculeGetResponse = contract(
  'MoleculeGetResponse',
  z.strictObject({
    molecule: Bead,
    children: z.array(Bead).nullable(),
    progress: contract('MoleculeProgress', z.strictObject({ total: int64, closed: int64 })),
  }),
);

export const MoleculesQuery = z.strictObject({
  all: queryBool(),
  rig: queryText(),
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  ...blockingRead,
});
export type MoleculesQuery = z.infer<typeof MoleculesQuery>;
