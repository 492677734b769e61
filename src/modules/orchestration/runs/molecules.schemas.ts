import { z } from 'zod';
import { Bead, beadLabels, beadTitle } from '../../../contract/beads.schemas.js';
import { blockingRead, queryBool, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';
import { formulaVars } from '../formulas/formulas.schemas.js';

const name = text.max(500);

export const MoleculeIdParam = z.string().min(1).max(255).describe('The id of the root bead.');

export const MoleculeCreateInputBody = contract(
  'MoleculeCreateInputBody',
  z.strictObject({
    formula: name.min(1),

    target: name.optional().describe('Whom it is for. A graph needs somebody; a tree may be for nobody in particular.'),

    rig: name.optional().describe('Whose formula it is, and where its beads are; the city’s own without.'),
    vars: formulaVars.optional(),
    title: beadTitle.optional().describe('The title of the root. Absent: as the formula says.'),
    labels: beadLabels.optional(),

    attached_bead_id: name.optional().describe('The bead that it is for: it has one live run of the formula.'),

    force: z.boolean().optional().describe('Ends the live runs of that bead.'),
  }),
  'The formula that is to become beads.',
);
export type MoleculeCreateInputBody = z.infer<typeof MoleculeCreateInputBody>;

export const MoleculeCreateOutputBody = contract(
  'MoleculeCreateOutputBody',
  z.strictObject({
    ...Bead.shape,
    created: z.boolean().describe('False when the bead had this run already.'),
    steps: int64.describe('How many steps it has.'),
  }),
  'The root. `created` is false when the bead had this run already.',
);
export type MoleculeCreateOutputBody = z.infer<typeof MoleculeCreateOutputBody>;

export const MoleculeGetResponse = contract(
  'MoleculeGetResponse',
  z.strictObject({
    molecule: Bead.describe('The root bead.'),
    children: z.array(Bead).nullable().describe('The beads of its steps. Null is the same as none.'),
    progress: contract(
      'MoleculeProgress',
      z.strictObject({ total: int64.describe('How many steps it has.'), closed: int64 }),
      'How far a molecule is.',
    ),
  }),
  'A molecule with its steps.',
);

export const MoleculesQuery = z.strictObject({
  all: queryBool(),
  rig: queryText(),
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  ...blockingRead,
});
export type MoleculesQuery = z.infer<typeof MoleculesQuery>;
