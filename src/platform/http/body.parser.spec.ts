import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { ProblemError } from '../../contract/problems.js';
import { parseBody, parseJson } from './body.parser.js';

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

  it.each([
    ['{"n":9007199254740993}', 'body.n', /kept exactly/],
    ['{"n":[1,-12345678901234567890]}', 'body.n.1', /kept exactly/],
    ['{"n":{"m":1e999}}', 'body.n.m', /larger than/],
    [`[${'9'.repeat(400_000)}]`, 'body.0', /larger than/],
    ['{"n":1e-999}', 'body.n', /closer to 0/],
    ['1e400', 'body', /larger than/],
  ])('refuses a number that would change: %#', (text, location, message) => {
    expect(refusal(text).errors).toEqual([{ message: expect.stringMatching(message), location }]);
  });

  it('tells the first twenty', () => {
    const { errors } = refusal(`[${Array(30).fill('1e999').join()}]`);
    expect(errors?.map(({ location }) => location)).toEqual(Array.from({ length: 20 }, (_, i) => `body.${i}`));
  });

  it('takes numbers with large exponents, and not so many that they fill the disk', () => {
    const numbers = (n: number): string => `[${Array(n).fill('1e300').join()}]`;
    expect(parseJson(numbers(200))).toHaveLength(200);
    expect(refusal(numbers(300)).errors?.[0]).toEqual({ message: 'is one of too many numbers with large exponents', location: 'body.218' });
    expect(refusal(`[${Array(300).fill('1e-300').join()}]`).kind.status).toBe(422);
    expect(refusal(`[${Array(1_000).fill('1e99').join()}]`).kind.status).toBe(422);
    expect(parseJson(`[${Array(5_000).fill('1.5e10').join()}]`)).toHaveLength(5_000);
  });

  it('looks for numbers outside strings', () => {
    expect(parseJson('["1e999", "\\\\", "\\"1e999", "a\\\\\\"1e999", 1e10]')).toEqual(['1e999', '\\', '"1e999', 'a\\"1e999', 1e10]);
    expect(refusal('["\\\\",1e999]').errors?.map(({ location }) => location)).toEqual(['body.1']);
  });

  it.each([
    ['{"a":1,"a":2}', ['body.a']],
    ['{"a":1,"\\u0061":1}', ['body.a']],
    ['[{"b":{"c":[],"x":1,"c":[1]}},{"b":1,"b":2,"b":3}]', ['body.0.b.c', 'body.1.b', 'body.1.b']],
    ['{"a 0":1,"a":{"a":":"},"a":1e999,"1":":","1":0}', ['body.a', 'body.1']],
    ['{"":1,"":2}', ['body.']],
    [`{${Array(30).fill('"a":1').join()}}`, Array(20).fill('body.a')],
  ])('refuses members that stand twice: %s', (text, locations) => {
    const { kind, errors } = refusal(text);
    expect(kind.status).toBe(422);
    expect(errors).toEqual(locations.map((location) => ({ message: 'must not stand twice in its object', location })));
  });

  it('takes the same name in different objects, and colons in strings', () => {
    const text = '[{"a":{"a":1},"b:":"\\":\\":"},{"a":[{"a":":"}],"0":1,"1":{}}]';
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('keeps numbers that are what they were', () => {
    const text = '[9007199254740992,12345678901234567168,1e22,1.5e300,-0.0,0e999,0.1234567890123456789,"9007199254740993",1e10]';
    expect(parseJson(text)).toEqual([2 ** 53, 12345678901234567168, 1e22, 1.5e300, -0, 0, 0.1234567890123456789, '9007199254740993', 1e10]); // oxlint-disable-line no-loss-of-precision
  });

  it('refuses nesting that would exhaust the stack later', () => {
    expect(refusal(`${'['.repeat(100_000)}${']'.repeat(100_000)}`).kind.status).toBe(422);
    expect(refusal(`[1e10,${'['.repeat(100_000)}${']'.repeat(100_000)}]`).kind.status).toBe(422);
    expect(parseJson(`${'['.repeat(64)}${']'.repeat(64)}`)).toBeDefined();
    expect(refusal(`${'['.repeat(65)}${']'.repeat(65)}`).errors).toHaveLength(1);
  });

  it('counts what is open at once, outside of texts, before it parses anything', () => {
    expect(refusal('['.repeat(65)).kind.status).toBe(422);
    for (const text of [`[${'[{}],'.repeat(100)}1]`, `["${'['.repeat(100)}\\"${'{'.repeat(100)}"]`]) expect(parseJson(text)).toBeDefined();
    for (const text of [`["${'['.repeat(100)}`, `${']'.repeat(100)}${'['.repeat(100)}`]) expect(refusal(text).kind.status).toBe(400);
  });
});

describe('parseBody', () => {
  const refused = (body: Buffer, encoding?: string) => {
    try {
      return parseBody(body, encoding);
    } catch (error) {
      return error instanceof ProblemError ? [error.kind.status, error.message] : error;
    }
  };

  it('takes UTF-8 alone, and nothing that is packed', () => {
    const text = Buffer.from('{"a":"é"}');
    expect(refused(text)).toEqual({ a: 'é' });
    expect(refused(text, 'Identity')).toEqual({ a: 'é' });
    expect(refused(Buffer.from('{"a":"é"}', 'latin1'))).toEqual([400, expect.stringContaining('not valid UTF-8')]);
    expect(refused(gzipSync(text), 'gzip')).toEqual([415, expect.stringContaining('content encoding')]);
  });
});
