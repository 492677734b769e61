import { z } from 'zod';
import { contract } from '../registry.js';
import { seq } from '../scalars.js';
import { defineEvent } from './define.js';

export const RotatedPayload = contract(
  'RotatedPayload',
  z.strictObject({
    prior_archive: z.string().describe('The name of the archive.'),
    prior_first_seq: seq.describe('The position of its first event.'),
    prior_last_seq: seq.describe('The position of its last event.'),
  }),
  'The part of a log that was put away.',
);

export const EventsRotated = defineEvent(
  'events.rotated',
  1,
  RotatedPayload,
  'What was before this event is an archive, which retention may drop.',
);
