import { z } from 'zod';
import { Message } from '../mail.schemas.js';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const MailEventPayload = contract(
  'MailEventPayload',
  z.strictObject({
    rig: z.string().describe('The rig that it is about, or the name of the city.'),
    message: Message.optional().describe('The message, where the event is about it as a whole.'),
  }),
  'The message that it happened to.',
);

export const MailSent = defineEvent('mail.sent', 1, MailEventPayload, 'A message was sent.');
export const MailRead = defineEvent(
  'mail.read',
  1,
  MailEventPayload,
  'A message was read. Known for clients; `mail.marked_read` tells it here.',
);
export const MailArchived = defineEvent('mail.archived', 1, MailEventPayload, 'A message was put away.');
export const MailMarkedRead = defineEvent('mail.marked_read', 1, MailEventPayload, 'Somebody has read a message, or says so.');
export const MailMarkedUnread = defineEvent('mail.marked_unread', 1, MailEventPayload, 'A message counts as unread again.');
export const MailReplied = defineEvent('mail.replied', 1, MailEventPayload, 'A message was answered.');
export const MailDeleted = defineEvent('mail.deleted', 1, MailEventPayload, 'A message was deleted.');

export const MailBroadcastSucceededPayload = contract(
  'MailBroadcastSucceededPayload',
  z.strictObject({
    request_id: z.string(),
    sent: int64.describe('How many messages it was: one for each who was there when it was accepted.'),
  }),
  'A broadcast to many is sent.',
);
export const MailBroadcastSucceeded = defineEvent(
  'request.result.mail.broadcast',
  1,
  MailBroadcastSucceededPayload,
  'All messages of a broadcast to many are sent.',
);
