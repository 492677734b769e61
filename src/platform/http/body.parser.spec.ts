import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../../contract/problems.js';
import { parseJson } from './body.parser.js';

function refusal(text: string): ProblemError {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('parseJson', () => {
  it('reads JSON and takes an empty body for none', () => {
    expect(parseJson('{"a":[1,"é😀"]}')).toEqual({ a: [1, 'é😀'] });
    expect(parseJson('')).toBeUndefined();
  });

  it('accepts what only looks suspicious', () => {
    expect(parseJson('{"a":"\\\\u0000"}')).toEqual({ a: '\\u0000' });
    expect(parseJson('{"a":"\\ud83d\\ude00"}')).toEqual({ a: '😀' });
    expect(parseJson('{"a":"__proto__"}')).toEqual({ a: '__proto__' });
    expect(parseJson(`[${'{},'.repeat(200)}{}]`)).toHaveLength(201);
  });

  it('tells text that is not JSON from text that may not be stored', () => {
    expect(refusal('{').kind.status).toBe(400);
    expect(refusal('{"a":"x\\u0000"}').kind.status).toBe(422);
  });

  it.each([
    ['{"a":{"b":["\\u0000"]}}', 'body.a.b.0'],
    ['{"a":"\\udc00"}', 'body.a'],
    ['{"a":{"\\u0000":1}}', 'body.a'],
    ['{"__proto__":{"x":1}}', 'body'],
    ['{"\\u005f_proto__":{"x":1}}', 'body'],
  ])('names the place in %s', (text, location) => {
    expect(refusal(text).errors?.map((e) => e.location)).toEqual([location]);
  });

  it('refuses nesting that would exhaust the stack later', () => {
    expect(refusal(`${'['.repeat(100_000)}${']'.repeat(100_000)}`).kind.status).toBe(422);
    expect(parseJson(`${'['.repeat(60)}${']'.repeat(60)}`)).toBeDefined();
  });
});
