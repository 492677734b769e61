import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { connect, ProtocolError } from './index.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
const document = JSON.parse(readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8'));
const shapeOf = (schema: Schema = {}): Schema =>
  schema.$ref === undefined ? schema : shapeOf(document.components.schemas[schema.$ref.split('/').at(-1)!]);
const isArray = ({ type, anyOf = [] }: Schema): boolean => type === 'array' || anyOf.some((one) => isArray(shapeOf(one)));
/** The lists that have pages, and which members of an answer are arrays. */
const LISTED: (readonly [path: string, arrays: readonly string[]])[] = Object.keys(document.paths).flatMap((path) => {
  const { properties = {} } = shapeOf(document.paths[path].get?.responses['200']?.content?.['application/json']?.schema);
  if (properties.next_cursor === undefined) return [];
  return [[path, Object.keys(properties).filter((name) => isArray(shapeOf(properties[name])))] as const];
});
/** Where they are not called `items`. */
const CALLED: Readonly<Record<string, string>> = {
  '/v0/city/{cityName}/config/explain': 'values',
  '/v0/city/{cityName}/orders': 'orders',
  '/v0/city/{cityName}/orders/history': 'entries',
  '/v0/city/{cityName}/packs': 'packs',
  '/v0/city/{cityName}/runs': 'runs',
  '/v0/city/{cityName}/sling/batch/{request_id}': 'results',
  '/v0/city/{cityName}/waits': 'waits',
};

it.each(LISTED)('%s is read to its end', async (path, arrays) => {
  const fetch = ((input: string) => {
    const second = new URL(input).searchParams.has('cursor');
    const page = Object.fromEntries(arrays.map((name) => [name, [{ of: name, second }]]));
    return Promise.resolve(Response.json({ ...page, ...(second ? {} : { next_cursor: 'c' }) }));
  }) as typeof globalThis.fetch;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'x']);
  const client = connect({ url: 'http://service.test', fetch, retryMs: 0 });
  const read: unknown[] = [];
  for await (const item of client.items(path as '/v0/cities', { path: Object.fromEntries(names) } as object)) read.push(item);
  const of = CALLED[path] ?? 'items';
  expect(read).toEqual([
    { of, second: false },
    { of, second: true },
  ]);
});

it('what is no list is not an empty one', async () => {
  const fetch = (() => Promise.resolve(Response.json({ status: 'ok' }))) as typeof globalThis.fetch;
  const read = connect({ url: 'http://service.test', fetch, retryMs: 0 }).items('/health').next();
  await expect(read).rejects.toThrow(new ProtocolError('GET /health is no list: its answer has no items'));
});
