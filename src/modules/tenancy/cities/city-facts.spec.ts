import { expect, it } from '@jest/globals';
import type { ProblemError } from '../../../contract/problems.js';
import { factsOf } from './city-facts.js';

it.each([
  ['loopbak', 'did you mean loopback?'],
  ['Claude', 'did you mean claude?'],
  ['nobody', 'known are claude, codex, '],
])('says beside the unknown provider %s what helps', (provider, hint) => {
  let refused: unknown;
  try {
    factsOf({ dir: 'x', provider });
  } catch (error) {
    refused = error;
  }
  const { detail, errors } = refused as ProblemError;
  expect(detail).toBe(`validation_failed: invalid provider: unknown provider "${provider}"`);
  expect(errors!.map(({ location }) => location)).toEqual(['body.provider', 'body.hint']);
  expect(errors![1]!.message.startsWith(hint)).toBe(true);
});
