import { z } from 'zod';
import { Message } from '../mail.schemas.js';
import { contract } from '../registry.js';
import { defineEvent } from './define.js';

export const MailEventPayload = contract('MailEventPayload', z.strictObject({ rig: z.string(), message: Message.optional() }));

export const MailSent = defineEvent('mail.sent', 1, MailEventPayload);
export const MailRead = defineEvent('mail.read', 1, MailEventPayload);
export const MailArchived = defineEvent('mail.archived', 1, MailEventPayload);
export const MailMarkedRead = defineEvent('mail.marked_read', 1, MailEventPayload);
export const MailMarkedUnread = defineEvent('mail.marked_unread', 1, MailEventPayload);
export const MailReplied = defineEvent('mail.replied', 1, MailEventPayload);
export const MailDeleted = defineEvent('mail.deleted', 1, MailEventPayload);
