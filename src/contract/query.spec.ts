import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { cityCursor, queryBool, queryEnum, queryInt, queryList, queryText } from './query.js';

const Query = z.strictObject({
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  seq: queryInt({ min: 0 }),
  fresh: queryBool(),
  items: queryList({ max: 3 }),
  type: queryText({ max: 5 }),
  order: queryEnum(['asc', 'desc']),
});

describe('query schemas', () => {
  it('turn text into values', () => {
    expect(Query.parse({ limit: '7', seq: '0', fresh: 'true', items: ['a, b', 'c'], type: 'x', order: 'asc' })).toEqual({
      limit: 7,
      seq: 0,
      fresh: true,
      items: ['a', 'b', 'c'],
      type: 'x',
      order: 'asc',
    });
  });

  it('fill in what is absent', () => {
    expect(Query.parse({})).toEqual({ limit: 100, fresh: false });
  });

  it.each([
    [{ limit: '1001' }],
    [{ limit: '-1' }],
    [{ limit: '1.5' }],
    [{ limit: '1e3' }],
    [{ limit: ' 1' }],
    [{ limit: '0x10' }],
    [{ limit: '99999999999999999999' }],
    [{ limit: ['1', '2'] }],
    [{ fresh: 'yes' }],
    [{ items: 'a,b,c,d' }],
    [{ type: ['a', 'b'] }],
    [{ type: 'toolong' }],
    [{ order: 'up' }],
    [{ unknown: '1' }],
  ])('refuse %j', (query) => {
    expect(Query.safeParse(query).success).toBe(false);
  });

  it.each([
    [queryInt({ min: 0, max: 4 }), '9', 'must be an integer from 0 to 4'],
    [queryInt({ min: 1 }), '0', 'must be an integer of at least 1'],
    [queryInt({ max: 4 }), 'x', 'must be an integer of at most 4'],
    [queryInt(), '1.5', 'must be an integer'],
  ])('say which numbers may be given: %#', (schema, value, message) => {
    expect(schema.safeParse(value).error?.issues.map((issue) => issue.message)).toEqual([message]);
  });

  it.each([
    [['a', 'b'], 'must be given once'],
    ['x'.repeat(6), 'Too big: expected string to have <=5 characters'],
    ['x', 'must be a number'],
  ])('say what is amiss with a text: %j', (value, message) => {
    const schema = queryText({ max: 5, pattern: /^\d|x{6}$/, form: 'must be a number' });
    expect(schema.safeParse(value).error?.issues.map((issue) => issue.message)).toEqual([message]);
  });

  // Guard: nobody is answered a regular expression.
  it('say in words what the cursor of a page of cities is', () => {
    expect(
      cityCursor()
        .safeParse('-x')
        .error?.issues.map((issue) => issue.message),
    ).toEqual(['must be the name of a city']);
    expect(cityCursor().safeParse('alpha').success).toBe(true);
  });

  it('make nothing of a list beyond one item too many', () => {
    const { error } = queryList({ max: 3 }).safeParse(['a', 'b,c,'.repeat(1_000), 'd'], { reportInput: true });
    expect(error?.issues.map(({ input }) => input)).toEqual([['a', 'b', 'c', 'b']]);
  });
});
