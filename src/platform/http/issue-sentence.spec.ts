import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ProblemError } from '../../contract/problems.js';
import { invalid } from './validation.pipe.js';

function told(schema: z.ZodType, value: unknown): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) throw new Error('it was taken');
  return (invalid(parsed.error, 'body', value) as ProblemError).errors?.map(({ message, location }) => `${location} ${message}`);
}

const schema = z.strictObject({
  title: z.string().min(1).max(3).optional(),
  slug: z
    .string()
    .regex(/^[a-z]+$/)
    .optional(),
  priority: z.int().min(0).max(4).optional(),
  share: z.number().gt(0).lt(1).optional(),
  labels: z.array(z.string()).min(2).max(3).optional(),
  on: z.boolean().optional(),
  meta: z.record(z.string(), z.string()).optional(),
  kind: z.enum(['dm', 'room']).optional(),
  mode: z.enum(['', 'arg']).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
  own: z.string().min(9, 'is too short for a secret').optional(),
});

describe('what is wrong with a member', () => {
  it.each<[object, string]>([
    [{ title: '' }, 'body.title must not be empty'],
    [{ title: 'four' }, 'body.title must have at most 3 characters'],
    [{ title: 5 }, 'body.title must be a string'],
    [{ title: null }, 'body.title must be a string'],
    [{ slug: 'A b' }, 'body.slug must match pattern /^[a-z]+$/'],
    [{ priority: -1 }, 'body.priority must be at least 0'],
    [{ priority: 5 }, 'body.priority must be at most 4'],
    [{ priority: 1.5 }, 'body.priority must be an integer'],
    [{ priority: '1' }, 'body.priority must be a number'],
    [{ share: 0 }, 'body.share must be more than 0'],
    [{ share: 1 }, 'body.share must be less than 1'],
    [{ labels: 7 }, 'body.labels must be an array'],
    [{ labels: ['a'] }, 'body.labels must have at least 2 items'],
    [{ labels: ['a', 2] }, 'body.labels.1 must be a string'],
    [{ on: 'true' }, 'body.on must be true or false'],
    [{ meta: [] }, 'body.meta must be an object'],
    [{ kind: 'thread' }, 'body.kind must be dm or room'],
    [{ mode: 'flag' }, 'body.mode must be "" or arg'],
    [{ at: 'yesterday' }, 'body.at must be a time such as 2026-03-01T09:00:00Z'],
    [{ own: 'x' }, 'body.own is too short for a secret'],
    [{ titel: 'x' }, 'body.titel unexpected property'],
  ])('%j: %s', (value, expected) => {
    expect(told(schema, value)).toEqual([expected]);
  });

  it('is told with a name that is no longer than it may be', () => {
    const vars = z.strictObject({ vars: z.record(z.string().max(3), z.string()) });
    expect(told(vars, { vars: { ['k'.repeat(9_000)]: 'v' } })).toEqual([
      `body.vars.${'k'.repeat(200)} this name must have at most 3 characters`,
    ]);
  });

  it('that is missing is that it is required', () => {
    expect(told(z.strictObject({ title: z.string(), kind: z.enum(['a']) }), {})).toEqual([
      'body.title is required',
      'body.kind is required',
    ]);
    expect(told(z.strictObject({}), null)).toEqual(['body must be an object']);
  });
});
