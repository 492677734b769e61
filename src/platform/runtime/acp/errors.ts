import type { RequestError } from '@agentclientprotocol/sdk';
import { storableText } from '../../../contract/storable.js';

export const AUTH_REQUIRED = -32000;
const MAX_WORDS = 1_000;

/** What an agent says of an error; many keep the cause in the data. */
export function wordsOf(error: RequestError): string {
  const data = error.data === undefined ? '' : typeof error.data === 'string' ? error.data : JSON.stringify(error.data);
  const words = [error.message, data].filter((part) => part !== '').join(': ');
  return storableText(words.slice(0, MAX_WORDS));
}
