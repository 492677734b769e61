import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

/** Every asynchronous operation that can end in `request.failed`. */
const OPERATION_KINDS = [
  'city.create',
  'city.unregister',
  'city.stop',
  'city.start',
  'city.register',
  'session.create',
  'session.message',
  'session.submit',
  'rig.create',
  'mail.broadcast',
  'sling.batch',
] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

export const RequestFailedPayload = contract(
  'RequestFailedPayload',
  z.strictObject({
    request_id: z.string(),
    operation: z.enum(OPERATION_KINDS).describe('What was to be done.'),
    error_code: z.string(),
    error_message: z.string(),
  }),
  'How an asynchronous operation has failed.',
);

export const RequestFailed = defineEvent(
  'request.failed',
  1,
  RequestFailedPayload,
  'An accepted request has failed: the one terminal event of it.',
);
