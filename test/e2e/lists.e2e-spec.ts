import { describe, expect, it } from '@jest/globals';
import { contract } from '../support/contract.js';
import { LISTS, OTHERS } from '../support/long-lists.js';

/** Every read of the document that may answer with a list or a map says how long that is. */
const { document, operations } = contract();
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

function holdsMany(schema: Schema | undefined, seen: ReadonlySet<string> = new Set()): boolean {
  if (schema === undefined) return false;
  const { $ref } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!;
    return !seen.has(name) && holdsMany(document.components.schemas[name] as Schema, new Set([...seen, name]));
  }
  if ([schema.type].flat().includes('array') || typeof schema.additionalProperties === 'object') return true;
  const parts = [...Object.values(schema.properties ?? {}), ...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
  return parts.some((part) => holdsMany(part, seen));
}

const reads = operations.filter(({ method, definition }) => {
  const answers = definition.responses as Readonly<Record<string, { content?: Record<string, { schema?: unknown }> }>>;
  return method === 'GET' && holdsMany(answers['200']?.content?.['application/json']?.schema as Schema | undefined);
});

describe('a read that answers a list', () => {
  it('is one whose length is bounded', () => {
    expect(reads.map(({ id }) => id).sort()).toEqual([...Object.keys(LISTS), ...Object.keys(OTHERS)].sort());
  });

  it('goes on with a cursor where it has a limit', () => {
    const names = (definition: object): readonly string[] =>
      ((definition as { parameters?: readonly { name: string }[] }).parameters ?? []).map(({ name }) => name);
    const endless = reads.filter(
      ({ definition }) => names(definition).includes('limit') && !names(definition).some((n) => /^(cursor|before)$/.test(n)),
    );
    // A hook offers work: who has taken it asks again. The pages of formulas show the newest runs: all of them are a list of their own.
    // A feed shows what goes on now. What is around a bead is a picture, and what is searched for is among the first or needs more letters.
    const newest = ['get-v0-city-by-city-name-formulas-feed', 'get-v0-city-by-city-name-formulas-by-name-runs'];
    const others = ['get-hook', 'get-v0-city-by-city-name-orders-feed'];
    const pictures = ['get-bead-neighborhood', 'search'];
    expect(endless.map(({ id }) => id).toSorted()).toEqual([...newest, ...others, ...pictures].toSorted());
  });
});
