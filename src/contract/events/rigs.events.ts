import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const RigCreateSucceededPayload = contract(
  'RigCreateSucceededPayload',
  z.strictObject({
    default_branch: z.string(),
    prefix: z.string(),
    request_id: z.string(),
    rig: z.string().describe('The name of the rig.'),
  }),
  'The rig is there.',
);
export const RigProvisionProgressPayload = contract(
  'RigProvisionProgressPayload',
  z.strictObject({
    rig: z.string().describe('The name of the rig.'),
    step: z.string().describe('The step that it is at.'),
    detail: z.string().optional(),
    request_id: z.string().optional(),
    warn: z.boolean().optional().describe('True for what may be a problem.'),
  }),
  'How far a rig is that is being made.',
);

export const RigCreateSucceeded = defineEvent(
  'request.result.rig.create',
  1,
  RigCreateSucceededPayload,
  'A rig is there, cloned where it was to be.',
);
export const RigProvisionProgress = defineEvent('rig.provision.progress', 1, RigProvisionProgressPayload, 'How far the clone of a rig is.');
