import { afterEach, describe, expect, it } from '@jest/globals';
import { pagePlugin } from './page-plugin.js';

const realFetch = globalThis.fetch;
afterEach(() => void (globalThis.fetch = realFetch));

/** The page gets the document where it asks for it; the outline that it was given has none of this. */
const resolve = async (document: object, ...path: string[]): Promise<any> => {
  globalThis.fetch = () => Promise.resolve(Response.json(document));
  return (await pagePlugin().fn.resolveSubtree({}, path)).spec;
};
const schemas = (all: Record<string, object>, root: object): object => ({ root, components: { schemas: all } });
const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

describe('what the page resolves', () => {
  it('is the part that is asked for, with what it refers to', async () => {
    const document = schemas({ A: { type: 'object', properties: { b: ref('B') } }, B: { type: 'string' } }, { schema: ref('A') });
    expect(await resolve(document, 'root', 'schema')).toEqual({
      title: 'A',
      $$ref: '#/components/schemas/A',
      type: 'object',
      properties: { b: { title: 'B', $$ref: '#/components/schemas/B', type: 'string' } },
    });
    expect(await resolve(document, 'nowhere')).toBeUndefined();
  });

  it('says what stands beside a reference', async () => {
    const document = schemas(
      { A: { type: 'string', description: 'Any.' } },
      { one: { ...ref('A'), description: 'This.' }, other: ref('A') },
    );
    expect(await resolve(document, 'root')).toMatchObject({
      one: { description: 'This.', type: 'string' },
      other: { description: 'Any.' },
    });
  });

  it('names what leads in a circle, and the rest of many alternatives', async () => {
    const loop = schemas({ A: { properties: { a: ref('A') } } }, ref('A'));
    expect((await resolve(loop, 'root')).properties.a).toMatchObject({ title: 'A', description: expect.stringContaining('openapi.json') });
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`K${n}`, { type: 'object' }]));
    const { oneOf, discriminator } = await resolve(schemas(many, { oneOf: Object.keys(many).map(ref), discriminator: {} }), 'root');
    expect([oneOf.length, oneOf.at(-1).title, discriminator]).toEqual([9, 'and 92 more', undefined]);
  });

  it('stops before a tree that nobody reads to its end', async () => {
    const levels = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        `L${n}`,
        n === 29 ? { type: 'string' } : { properties: { left: ref(`L${n + 1}`), right: ref(`L${n + 1}`) } },
      ]),
    );
    expect(JSON.stringify(await resolve(schemas(levels, ref('L0')), 'root')).length).toBeLessThan(2_000_000);
  });

  it('is asked for once, at once, and again only when it did not come', async () => {
    const asked: unknown[] = [];
    let broken = true;
    globalThis.fetch = (url) => {
      asked.push(url);
      return broken ? Promise.reject(new Error('gone')) : Promise.resolve(Response.json({ a: { b: 1 } }));
    };
    const { resolveSubtree } = pagePlugin().fn;
    expect(asked).toEqual(['/openapi.json']);
    await expect(resolveSubtree({}, ['a'])).rejects.toThrow('gone');
    broken = false;
    expect(await Promise.all([resolveSubtree({}, ['a']), resolveSubtree({}, ['a', 'b'])])).toMatchObject([{ spec: { b: 1 } }, { spec: 1 }]);
    expect(asked).toEqual(['/openapi.json', '/openapi.json']);
  });
});
