import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime } from '../scalars.js';
import { defineEvent } from './define.js';

export const MoleculeResolvedPayload = contract(
  'MoleculeResolvedPayload',
  z.strictObject({
    actor: z.string(),
    from_status: z.string().describe('The status of the root before.'),
    issue_id: z.string().describe('The root bead.'),
    to_status: z.string().describe('The status of the root now.'),
    ts: dateTime.describe('When that was. RFC 3339 in UTC.'),
    close_reason: z.string().optional(),
    session_id: z.string().optional(),
    session_name: z.string().optional(),
    work_dir: z.string().optional(),
  }),
  'The root bead of a molecule was closed.',
);

export const MoleculeResolved = defineEvent(
  'molecule.resolved',
  1,
  MoleculeResolvedPayload,
  'The beads of a formula are done, or it was ended.',
);
