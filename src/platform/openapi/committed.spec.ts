import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import addFormats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { isDescribed, type JsonSchema } from './components.js';

/** What a stranger and his generators find in the document as it is committed. */
interface Media {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
  readonly 'x-event-data'?: unknown;
}
interface Answer {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Operation {
  readonly operationId: string;
  readonly 'x-name'?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly description?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Answer>>;
}
interface Document {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Answer>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description?: string }>>;
  };
}
const NAMES = new Map(Object.entries(STATUS_CODES).map(([status, name]) => [name!.replace(/[^A-Za-z]/g, ''), Number(status)]));
const text = readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8');
const document = JSON.parse(text) as Document;
const { schemas, responses, securitySchemes } = document.components;
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));

/** Every schema below `node`, with where it is. */
function* below(node: unknown, at: string): Generator<[string, JsonSchema]> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield [at, node as JsonSchema];
  for (const [key, value] of Object.entries(node)) if (!/^x?-?example/.test(key)) yield* below(value, `${at}.${key}`);
}
const everywhere = [...below(document.paths, 'paths'), ...below(document.components, 'components')];

describe('the document describes', () => {
  it('every operation, in a line and in words, by a short name that no other has', () => {
    expect(operations.filter(({ summary, description }) => !summary || !description).map(({ operationId }) => operationId)).toEqual([]);
    const names = operations.map((operation) => operation['x-name']);
    expect(new Set(names).size).toBe(operations.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it('every parameter', () => {
    const silent = operations.flatMap(({ operationId, parameters = [] }) =>
      parameters.filter(({ description }) => !description).map(({ name }) => `${operationId} ${name}`),
    );
    expect(silent).toEqual([]);
  });

  it('every component, member and word', () => {
    expect(Object.keys(schemas).filter((name) => !schemas[name]!.description)).toEqual([]);
    const silent = everywhere.flatMap(([at, { properties }]) =>
      typeof properties === 'object' && properties !== null && !at.endsWith('.properties')
        ? Object.entries(properties as Record<string, JsonSchema>).flatMap(([name, member]) =>
            isDescribed(member) ? [] : [`${at}.${name}`],
          )
        : [],
    );
    expect(silent).toEqual([]);
  });

  it('every answer, family and scheme, and what holds for all', () => {
    expect(operations.flatMap((o) => Object.values(o.responses)).filter((r) => r.$ref === undefined && !r.description)).toEqual([]);
    expect(Object.values(responses).filter(({ description }) => !description)).toEqual([]);
    expect(document.tags.filter(({ description }) => !description)).toEqual([]);
    expect(new Set(operations.flatMap(({ tags }) => tags))).toEqual(new Set(document.tags.map(({ name }) => name)));
    expect(Object.values(securitySchemes).filter(({ description }) => !description)).toEqual([]);
    for (const word of ['X-SVC-Request', 'Idempotency-Key', 'Last-Event-ID', 'request_id', 'RFC 9457', 'x-name'])
      expect(document.info.description).toContain(word);
  });
});

describe('generators of clients', () => {
  it('find numbers that JavaScript has', () => {
    expect(text).not.toContain('"int64"');
  });

  it('find lists and maps whose items they know', () => {
    const lost = everywhere.filter(([, { type }]) => Array.isArray(type) && type.some((one) => one === 'array' || one === 'object'));
    expect(lost.map(([at]) => at)).toEqual([]);
  });

  it('find no word that cannot be a name', () => {
    const empty = everywhere.filter(([, schema]) => Array.isArray(schema.enum) && schema.enum.includes(''));
    expect(empty.map(([at]) => at)).toEqual([]);
  });

  it('find no map in a component that is called as the type of maps', () => {
    expect(JSON.stringify(schemas.Record)).not.toContain('additionalProperties":{');
  });

  it('find the header of changes where it is set once, and one answer of each kind of refusal', () => {
    expect(operations.flatMap(({ parameters = [] }) => parameters).filter(({ name }) => name === 'X-SVC-Request')).toEqual([]);
    const own = operations.flatMap((o) =>
      Object.entries(o.responses).filter(([status, r]) => !/^[23]/.test(status) && r.$ref === undefined),
    );
    expect(own).toEqual([]);
  });

  it('find parameters in the order of the path', () => {
    for (const [path, item] of Object.entries(document.paths))
      for (const { parameters = [] } of Object.values(item))
        expect(parameters.filter((p) => p.in === 'path').map(({ name }) => name)).toEqual(
          [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        );
  });

  it('find what the events of each stream carry', () => {
    const streams = operations.flatMap((o) => o.responses['200']?.content?.['text/event-stream'] ?? []);
    expect(streams.length).toBeGreaterThan(8);
    expect(streams.filter((stream) => stream['x-event-data'] === undefined)).toEqual([]);
  });
});

describe('examples', () => {
  const ajv = new Ajv2020({ strict: false, inlineRefs: false, code: { optimize: false } });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema({
    $id: 'openapi',
    $defs: JSON.parse(JSON.stringify(schemas).replaceAll('#/components/schemas/', 'openapi#/$defs/')) as object,
  });
  const compiled = new Map<string, ValidateFunction>();
  const faultsOf = (where: string, { schema, example }: Media): string[] => {
    if (example === undefined) return [`${where}: none`];
    const text = JSON.stringify(schema).replaceAll('#/components/schemas/', 'openapi#/$defs/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object);
    compiled.set(text, validate);
    return validate(example) ? [] : [`${where}: ${ajv.errorsText(validate.errors)}`];
  };

  it('of every body are what its schema takes', () => {
    const faults = operations.flatMap(({ operationId, requestBody }) =>
      Object.values(requestBody?.content ?? {}).flatMap((media) => faultsOf(operationId, media)),
    );
    expect(faults).toEqual([]);
  });

  it('of every refusal are problems of its status', () => {
    const faults = Object.entries(responses).flatMap(([name, { content = {} }]) =>
      Object.values(content).flatMap((media) => faultsOf(name, media)),
    );
    expect(faults).toEqual([]);
    const told = Object.entries(responses).map(([name, { content }]) => [
      name,
      (content!['application/problem+json']!.example as { status: number }).status,
    ]);
    expect(told).toEqual(told.map(([name, status]) => [name, name === 'Problem' ? 421 : (NAMES.get(String(name)) ?? status)]));
  });

  it('of every answer in JSON, and of every stream, are what its schema says', () => {
    const faults = operations.flatMap(({ operationId, responses: answers }) =>
      Object.values(answers).flatMap(({ content = {} }) =>
        Object.entries(content).flatMap(([type, media]) =>
          /^(application\/json|text\/event-stream)$/.test(type) ? faultsOf(operationId, media) : [],
        ),
      ),
    );
    expect(faults).toEqual([]);
  });
});
