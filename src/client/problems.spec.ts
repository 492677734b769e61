import { expect, it } from '@jest/globals';
import { ApiProblem } from './problems.js';

const refused = (body: unknown, status = 422): ApiProblem => new ApiProblem(new Response(null, { status }), body);
const title = { location: 'body.title', message: 'must not be empty' };

it('says which member is wrong to whoever prints it, and the detail alone to programs', () => {
  const { message, detail, errors } = refused({ detail: 'validation_failed: validation failed', errors: [title, { message: 'and more' }] });
  expect(message).toBe('validation_failed: validation failed (body.title: must not be empty; and more)');
  expect([detail, errors[0]]).toEqual(['validation_failed: validation failed', title]);
});

it('says of a conflict the facts with their values, and of advice no place', () => {
  const errors = [
    { location: 'bead.metadata.gc.routed_to', message: 'current route', value: 'pool' },
    { location: 'body.hint', message: 'pass force' },
  ];
  expect(refused({ detail: 'conflict: no', errors }, 409).message).toBe('conflict: no (current route: pool; pass force)');
});

it('says so much of a member as a line can hold', () => {
  const { message } = refused({ detail: 'no', errors: [{ location: 'a', message: 'x'.repeat(10_000) }] });
  expect(message).toBe(`no (a: ${'x'.repeat(497)}…)`);
});

it.each([
  [
    'what the detail says already',
    { detail: 'invalid: the title must not be empty', errors: [title] },
    'invalid: the title must not be empty',
  ],
  ['what is no list', { detail: 'no', errors: 'none' }, 'no'],
  ['what are no errors', { detail: 'no', errors: [null, 1, { message: 2 }] }, 'no'],
  ['more than a line can hold', { detail: 'no', errors: Array(9).fill({ message: 'x' }) }, 'no (x; x; x; x; x)'],
  ['a body that is no problem', undefined, 'API returned HTTP 422'],
])('leaves out %s', (_what, body, message) => {
  expect(refused(body).message).toBe(message);
});
