import { expect, it } from '@jest/globals';
import { failureOf, isDone } from './run-end.js';

it.each([
  [{ status: 'completed' }, undefined],
  [{ status: 'canceled', last_error: { code: 'canceled' } }, undefined],
  [{ status: 'canceled', last_error: { code: 'canceled', message: 'by mayor' } }, 'by mayor (canceled)'],
  [{ status: 'failed', last_error: { code: 'hard' } }, 'hard'],
  [{ status: 'failed', last_error: { code: 'hard', message: 'no disk' } }, 'no disk (hard)'],
])('a run says why it has ended: %j', (run, said) => {
  expect(failureOf(run)).toBe(said);
});

it('takes what was canceled, or left out, for closed and not for done', () => {
  expect(['active', 'completed', 'failed', 'canceled', 'skipped'].filter(isDone)).toEqual(['active', 'completed', 'failed']);
});
