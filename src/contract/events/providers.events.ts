import { defineEvent, NoPayload } from './define.js';

export const ProviderSwapped = defineEvent('provider.swapped', 1, NoPayload, 'A session goes on with another provider.');
