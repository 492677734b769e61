import { defineEvent, NoPayload } from './define.js';

export const ProviderSwapped = defineEvent(
  'provider.swapped',
  1,
  NoPayload,
  'A session was given another provider. Known for clients; nothing here emits it.',
);
