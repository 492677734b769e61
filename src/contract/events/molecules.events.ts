import { z } from 'zod';
import { contract } from '../registry.js';
import { dateTime } from '../scalars.js';
import { defineEvent } from './define.js';

export const MoleculeResolvedPayload = contract(
  'MoleculeResolvedPayload',
  z.strictObject({
    actor: z.string(),
    from_status: z.string(),
    issue_id: z.string(),
    to_status: z.string(),
    ts: dateTime,
    close_reason: z.string().optional(),
    session_id: z.string().optional(),
    session_name: z.string().optional(),
    work_dir: z.string().optional(),
  }),
);

export const MoleculeResolved = defineEvent('molecule.resolved', 1, MoleculeResolvedPayload);
