import { defineEvent, NoPayload } from './define.js';

export const ConvoyCreated = defineEvent('convoy.created', 1, NoPayload);
export const ConvoyClosed = defineEvent('convoy.closed', 1, NoPayload);
