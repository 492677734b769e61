import type { RequestError } from '@agentclientprotocol/sdk';

export const AUTH_REQUIRED = -32000;
const MAX_WORDS = 1_000;

/** What an agent says of an error; many keep the cause in the data. */
export function wordsOf(error: RequestError): string {
  const data = error.data === undefined ? '' : typeof error.data === 'string' ? error.data : JSON.stringify(error.data);
  return [error.message, data]
    .filter((part) => part !== '')
    .join(': ')
    .slice(0, MAX_WORDS);
}
