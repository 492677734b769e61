import fc from 'fast-check';
import { anyText } from './any-text.js';

/** Values that fit a JSON schema of our document, and values that are meant to hurt. */
type Schema = Readonly<Record<string, unknown>>;
type Components = Readonly<Record<string, object>>;

/** Texts that have broken services before. None of them looks like what the scanner for leaks looks for. */
export const HOSTILE: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u2066',
  '\ufeff',
  '👩‍👩‍👧‍👦🏳️‍🌈',
  'ﷺ'.repeat(100),
  'Z̴̧̢̛'.repeat(50),
  '١٢٣',
  'x'.repeat(300),
  'x'.repeat(70_000),
  '\r\n\r\nHTTP/1.1 200 OK',
  '\u0001\u001b[2J\u007f',
  '../../../../etc/passwd',
  '..\\..\\windows',
  '/etc/passwd',
  '%2e%2e%2f',
  '%00',
  '%zz',
  '%ED%A0%80',
  'file:///etc/passwd',
  '.',
  '..',
  '~',
  '-rf',
  "' or '1'='1",
  "'; drop table cities; --",
  '") or 1=1 --',
  '$1',
  '${7*7}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '__supervisor__',
  '__supervisor__:0',
  'alpha:1,alpha:2',
  '~1.AAAA',
  '~zzzzzzzzzzzz.////',
  'v1:eyJrIjoic3EiLCJzIjoxfQ',
  'v1:eyJrIjoidHEiLCJ0Ijo5MDA3MTk5MjU0NzQwOTkxLCJpIjoxLCJzIjoxfQ',
  '0',
  '-0',
  '-1',
  '1e309',
  '9007199254740991',
  '9007199254740993',
  '9223372036854775808',
  '99999999999999999999999999',
  '0x10',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  '\\u0000',
  'request.failed',
  'city.created',
  'mail.sent',
  'bead.created',
  '1h',
  '-5m',
  '99999999999h',
  '0.0000000001ns',
  'P1D',
  '2026-11-21T00:00:00Z',
  'a.b.c.d.e.f=1',
  'a.0.b=x',
  '=',
  'a=',
];

export const hostileText = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...HOSTILE) }, { weight: 2, arbitrary: anyText(30) });

/** Any JSON value, the bad ones more often. */
const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e300, 2 ** 53, -(2 ** 63), [], {}, [[]], [null], { a: { b: [] } }),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(3, 63, 64, 65, 200).map(nested) },
);

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Values that fit `schema`. Patterns and formats are met where a short text can meet them. */
export function fitting(schema: Schema, components: Components): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') return fitting(components[schema.$ref.split('/').pop()!] as Schema, components);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  if ('const' in schema) return fc.constant(schema.const);
  const options = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined;
  if (options !== undefined) return fc.oneof(...options.slice(0, 12).map((option) => fitting(option, components)));
  const types = [schema.type ?? 'object'].flat() as string[];
  return fc.oneof(...types.map((type) => ofType(type, schema, components)));
}

function ofType(type: string, schema: Schema, components: Components): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return text(schema);
    case 'integer':
      return fc.integer({ min: (schema.minimum as number) ?? -5, max: Math.min((schema.maximum as number) ?? 1_000, 1_000_000) });
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(fitting((schema.items as Schema | undefined) ?? {}, components), {
        minLength: (schema.minItems as number) ?? 0,
        maxLength: 4,
      });
    default:
      return object(schema, components);
  }
}

function text({ pattern, format, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc.constantFrom('2026-11-21T09:00:00Z', '2026-11-21T10:00:00.123456+01:00', '2026-11-22T05:00:00+20:00');
  const plain = fc.string({ minLength: minLength as number, maxLength: Math.min(maxLength as number, 40) });
  if (pattern === undefined) return plain;
  return pattern === '\\S' ? plain.map((s) => (s.trim() === '' ? 'x' : s)) : fc.stringMatching(new RegExp(pattern as string));
}

function object(schema: Schema, components: Components): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  if (properties.length === 0) {
    const { additionalProperties: rest } = schema;
    if (rest === false) return fc.constant({});
    const member =
      typeof rest === 'object' && Object.keys(rest as object).length > 0
        ? fitting(rest as Schema, components)
        : fc.jsonValue({ maxDepth: 2 });
    // The one name that no member may have.
    const name = fc.string({ maxLength: 10 }).filter((text) => text !== '__proto__');
    return fc.dictionary(name, member, { maxKeys: 4, noNullPrototype: true });
  }
  const required = new Set((schema.required ?? []) as string[]);
  const members = Object.fromEntries(properties.map(([name, member]) => [name, fitting(member, components)]));
  return fc.record(members, { requiredKeys: [...required], noNullPrototype: true } as never);
}

/** A fitting value with one thing wrong: a member missing, unknown, or of another kind. */
export function broken(schema: Schema, components: Components): fc.Arbitrary<unknown> {
  const spoil = (value: unknown, [how, at, bad]: [number, number, unknown]): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return bad;
    const names = Object.keys(value);
    const name = names[at % Math.max(1, names.length)];
    if (how === 0 && name !== undefined) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
    if (how === 1) return { ...value, [typeof bad === 'string' ? bad : 'extra']: bad };
    if (how === 2) return bad;
    return name === undefined ? bad : { ...value, [name]: bad };
  };
  const damage = fc.tuple(fc.constantFrom(0, 1, 2, 3, 3, 3, 3), fc.nat(20), hostileValue);
  return fc.tuple(fitting(schema, components), damage).map(([value, wound]) => spoil(value, wound));
}
