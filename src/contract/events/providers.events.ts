import { defineEvent, NoPayload } from './define.js';

export const ProviderSwapped = defineEvent('provider.swapped', 1, NoPayload);
