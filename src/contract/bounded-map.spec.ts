import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { boundedMap } from './bounded-map.js';
import { SessionCreateBody } from './sessions.schemas.js';

const schema = z.strictObject({ env: boundedMap(z.record(z.string().max(4), z.string()), 2, 'must have at most 2 entries') });
const told = (body: unknown): unknown => schema.safeParse(body).error?.issues.map(({ path, message }) => [path.join('.'), message]);

it('takes a map that is not too large as the map itself does', () => {
  expect(schema.parse({ env: { a: 'b', c: 'd' } })).toEqual({ env: { a: 'b', c: 'd' } });
  expect(told({ env: { a: 1, b: 2 } })).toEqual([
    ['env.a', expect.any(String)],
    ['env.b', expect.any(String)],
  ]);
  for (const env of [undefined, null, 'text', ['a', 'b', 'c']]) expect(told({ env })).toEqual([['env', expect.stringMatching(/record/)]]);
  expect(told({})).toEqual([['env', expect.stringMatching(/record/)]]);
});

it('says one thing of a map that is too large, whatever is wrong in it', () => {
  const env = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`too long ${n}`, n]));
  expect(told({ env })).toEqual([['env', 'must have at most 2 entries']]);
});

it('bounds the options of a session', () => {
  const options = (count: number): object => ({ options: Object.fromEntries(Array.from({ length: count }, (_, n) => [`o${n}`, 'x'])) });
  expect([500, 501].map((count) => SessionCreateBody.safeParse(options(count)).success)).toEqual([true, false]);
});
