import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const ServiceStatePayload = contract(
  'ServiceStatePayload',
  z.strictObject({
    service: z.string().min(1).describe('The name of the service.'),
    state: z.enum(['starting', 'ready', 'degraded', 'stopping', 'stopped']),
    local_state: z.string().describe('As `state`; `config_error` and `close_error` are `degraded` there.'),

    reason: z.string().optional().describe('Why it is not ready, as one word.'),

    detail: z.string().optional().describe('The same in words, such as the status that its process ended with.'),
  }),
  'A service of a city is not as it was.',
);

/** A service of a city is not as it was. */
export const ServiceStateChanged = defineEvent(
  'service.state_changed',
  1,
  ServiceStatePayload,
  'A service of the city is not as it was: it is ready, degraded, stopped or on its way.',
);
