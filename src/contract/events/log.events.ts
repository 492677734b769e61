import { z } from 'zod';
import { contract } from '../registry.js';
import { seq } from '../scalars.js';
import { defineEvent } from './define.js';

export const RotatedPayload = contract(
  'RotatedPayload',
  z.strictObject({ prior_archive: z.string(), prior_first_seq: seq, prior_last_seq: seq }),
);

export const EventsRotated = defineEvent('events.rotated', 1, RotatedPayload);
