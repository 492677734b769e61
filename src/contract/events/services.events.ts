import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const ServiceStatePayload = contract(
  'ServiceStatePayload',
  z.strictObject({
    service: z.string().min(1),
    state: z.enum(['starting', 'ready', 'degraded', 'stopping', 'stopped']),
    local_state: z.string(),
    /** Why it is not ready, as one word. */
    reason: z.string().optional(),
    /** The same in words, such as the status that its process ended with. */
    detail: z.string().optional(),
  }),
);

/** A service of a city is not as it was. */
export const ServiceStateChanged = defineEvent('service.state_changed', 1, ServiceStatePayload);
