import { z } from 'zod';
import { Message } from '../mail.schemas.js';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const MailEventPayload = contract(
  'MailEventPayload',
  z.strictObject({ rig: z.string(), message: Message.optional().describe('The message, where the event is about it as a whole.') }),
  'The message that it happened to.',
);

export const MailSent = defineEvent('mail.sent', 1, MailEventPayload, 'A message was sent.');
export const MailRead = defineEvent('mail.read', 1, MailEventPayload, 'A message was read.');
export const MailArchived = defineEvent('mail.archived', 1, MailEventPayload, 'A message was archived.');
export const MailMarkedRead = defineEvent('mail.marked_read', 1, MailEventPayload, 'A message was marked as read.');
export const MailMarkedUnread = defineEvent('mail.marked_unread', 1, MailEventPayload, 'A message was marked as unread.');
export const MailReplied = defineEvent('mail.replied', 1, MailEventPayload, 'A message was replied to.');
export const MailDeleted = defineEvent('mail.deleted', 1, MailEventPayload, 'A message was deleted.');
