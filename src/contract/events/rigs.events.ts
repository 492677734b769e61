import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const RigCreateSucceededPayload = contract(
  'RigCreateSucceededPayload',
  z.strictObject({ default_branch: z.string(), prefix: z.string(), request_id: z.string(), rig: z.string() }),
);
export const RigProvisionProgressPayload = contract(
  'RigProvisionProgressPayload',
  z.strictObject({
    rig: z.string(),
    step: z.string(),
    detail: z.string().optional(),
    request_id: z.string().optional(),
    warn: z.boolean().optional(),
  }),
);

export const RigCreateSucceeded = defineEvent('request.result.rig.create', 1, RigCreateSucceededPayload);
export const RigProvisionProgress = defineEvent('rig.provision.progress', 1, RigProvisionProgressPayload);
