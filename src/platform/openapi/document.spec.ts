import 'reflect-metadata';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Delete, Get, Module, Param, Post, Query, type Type } from '@nestjs/common';
import { z } from 'zod';
import { queryInt, queryList, queryText } from '../../contract/query.js';
import { contract, contractRegistry, demanded } from '../../contract/registry.js';
import { AsyncAcceptedResponse } from '../../contract/scalars.js';
import { IdempotencyKey } from '../http/caller.decorator.js';
import { Operation } from '../http/operation.decorator.js';
import { canonicalJson } from './canonical.js';
import { previewDocument } from './document.js';

const Small = contract('TestSmall', z.strictObject({ kind: z.literal('small'), note: z.string().nullable(), count: z.int() }));
const Large = contract(
  'TestLarge',
  z.strictObject({ kind: z.literal('large'), parts: z.array(Small).nullable(), first: Small.nullable() }),
);
const Asked = contract(
  'TestAsked',
  z.strictObject({ kind: demanded(z.string().optional().describe('Which.')), other: z.string().optional() }),
);
const Thing = contract('TestThing', z.discriminatedUnion('kind', [Small, Large]));
const City = z.string().min(1);
const ThingQuery = z.strictObject({ scope: demanded(queryText()), limit: queryInt({ min: 0, max: 9, default: 3 }), names: queryList() });

@Controller('v0/city/:cityName')
class ThingsController {
  @Operation({
    id: 'create-thing',
    needs: 'operate',
    summary: 'Create',
    status: 202,
    response: AsyncAcceptedResponse,
    problems: ['conflict', 'provider_not_ready'],
  })
  @Post('things')
  create(
    @Param('cityName', { schema: City }) _city: string,
    @Body({ schema: Thing }) _body: unknown,
    @IdempotencyKey() _key: string | undefined,
  ): void {}

  @Operation({ id: 'list-things', summary: 'List', response: Large, headers: ['X-SVC-Index'] })
  @Get('things')
  list(@Param('cityName', { schema: City }) _city: string, @Query({ schema: ThingQuery }) _query: unknown): void {}

  @Operation({ id: 'stream-things', summary: 'Stream', stream: [{ event: 'thing', data: Thing }] })
  @Get('things/stream')
  stream(@Param('cityName', { schema: City }) _city: string): void {}

  @Operation({ id: 'delete-thing', needs: 'configure', summary: 'Delete', status: 204 })
  @Delete('things/:id')
  remove(
    @Param('cityName', { schema: City }) _city: string,
    @Param('id', { schema: z.string().max(9) }) _id: string,
    @Body({ schema: Small.optional() }) _body: unknown,
  ): void {}
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}
@Module({ imports: [ThingsModule] })
class RootModule {}

function dig(node: unknown, ...keys: string[]): unknown {
  return keys.reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], node);
}
interface Document {
  readonly paths: Record<string, Record<string, unknown>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
}
const document = (await previewDocument({ module: RootModule, imports: [ThingsModule] })) as unknown as Document;
const at = (path: string, method: string): Record<string, unknown> => document.paths[path]?.[method] as Record<string, unknown>;
const parameters = (path: string, method: string): unknown =>
  (at(path, method).parameters as { in: string; name: string; required?: boolean }[]).map((p) => [p.in, p.name, p.required === true]);

// The registry is one a process, and other files build documents from it.
afterAll(() => [Small, Large, Asked, Thing].forEach((schema) => contractRegistry.remove(schema)));

describe('buildDocument', () => {
  it('finds the operations of imported modules once', () => {
    expect(Object.keys(document.paths)).toEqual([
      '/v0/city/{cityName}/things',
      '/v0/city/{cityName}/things/stream',
      '/v0/city/{cityName}/things/{id}',
    ]);
  });

  it('documents parameters of every kind', () => {
    expect(parameters('/v0/city/{cityName}/things', 'post')).toEqual([
      ['path', 'cityName', true],
      ['header', 'Idempotency-Key', false],
    ]);
    expect(parameters('/v0/city/{cityName}/things', 'get')).toEqual([
      ['path', 'cityName', true],
      ['query', 'scope', true],
      ['query', 'limit', false],
      ['query', 'names', false],
    ]);
    expect(parameters('/v0/city/{cityName}/things/stream', 'get')).toContainEqual(['header', 'Last-Event-ID', false]);
    const [, , limit, names] = at('/v0/city/{cityName}/things', 'get').parameters as { schema: unknown }[];
    expect(limit?.schema).toEqual({ type: 'integer', minimum: 0, maximum: 9, default: 3 });
    expect(names?.schema).toMatchObject({ type: 'array', items: { type: 'string' } });
  });

  it('refers to registered schemas and describes refusals as problems', () => {
    const create = at('/v0/city/{cityName}/things', 'post');
    expect(dig(create, 'requestBody', 'content', 'application/json', 'schema')).toEqual({ $ref: '#/components/schemas/TestThing' });
    expect(Object.keys(dig(create, 'responses') as object)).toEqual([
      '202',
      '400',
      '401',
      '403',
      '409',
      '413',
      '414',
      '415',
      '422',
      '429',
      '500',
      '503',
      'default',
    ]);
    // What is its own, the codes, stands beside the one answer that all share.
    expect(dig(create, 'responses', '409')).toEqual({
      $ref: '#/components/responses/Conflict',
      description: expect.stringMatching(/\. `conflict-wrong-state`, `idempotency-in-flight`$/),
    });
    expect(dig(create, 'responses', '413')).toEqual({ $ref: '#/components/responses/PayloadTooLarge' });
    expect(dig(document.components, 'responses', 'Conflict', 'content')).toMatchObject({
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/ErrorModel' },
        example: { status: 409, code: 'conflict-wrong-state' },
      },
    });
    for (const response of Object.values(dig(document.components, 'responses') as Record<string, { headers: object }>))
      expect(response.headers).toHaveProperty('X-SVC-Request-Id');
    expect(dig(document.components, 'responses', 'TooManyRequests', 'headers')).toHaveProperty('RateLimit-Policy');
    expect(dig(create, 'security')).toEqual([{ apiKey: ['operate'], change: [] }, { change: [] }]);
    const list = at('/v0/city/{cityName}/things', 'get');
    expect(Object.keys(dig(list, 'responses', '200', 'headers') as object)).toEqual(['X-SVC-Request-Id', 'X-SVC-Index']);
  });

  it('tells the bodies that may be left out', () => {
    const body = (path: string, method: string) => dig(at(path, method), 'requestBody');
    expect(body('/v0/city/{cityName}/things/{id}', 'delete')).toEqual({
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/TestSmall' }, example: { count: 0, kind: 'small', note: 'note' } },
      },
    });
    expect(body('/v0/city/{cityName}/things', 'post')).toMatchObject({ required: true });
  });

  it('describes streams as arrays of frames', () => {
    const stream = at('/v0/city/{cityName}/things/stream', 'get');
    const frames = dig(stream, 'responses', '200', 'content', 'text/event-stream', 'schema', 'items', 'oneOf');
    expect(frames).toMatchObject([
      { properties: { event: { const: 'thing' }, data: { $ref: '#/components/schemas/TestThing' } }, required: ['data', 'event'] },
    ]);
  });

  it('tells what must be there although a rule of its own refuses what lacks it', () => {
    expect(document.components.schemas.TestAsked).toMatchObject({
      properties: { kind: { type: 'string', description: 'Which.' } },
      required: ['kind'],
    });
    expect(Asked.safeParse({}).success).toBe(true);
    expect(JSON.stringify(document)).not.toContain('x-demanded');
  });

  it('converts schemas to the dialect of 3.1', () => {
    const { TestSmall, TestLarge, TestThing } = document.components.schemas;
    expect(TestSmall).toEqual({
      type: 'object',
      properties: {
        kind: { type: 'string', const: 'small' },
        note: { type: ['string', 'null'], description: 'A note for people.' },
        count: { type: 'integer', description: 'How many.' },
      },
      required: ['kind', 'note', 'count'],
      additionalProperties: false,
    });
    expect(TestLarge?.properties).toMatchObject({
      parts: { anyOf: [{ type: 'array', items: { $ref: '#/components/schemas/TestSmall' } }, { type: 'null' }] },
      first: { anyOf: [{ $ref: '#/components/schemas/TestSmall' }, { type: 'null' }] },
    });
    expect(TestThing?.discriminator).toEqual({
      propertyName: 'kind',
      mapping: { small: '#/components/schemas/TestSmall', large: '#/components/schemas/TestLarge' },
    });
  });

  it('creates no provider', async () => {
    class Connection {
      constructor() {
        throw new Error('connected');
      }
    }
    await expect(previewDocument({ module: RootModule, providers: [Connection] })).resolves.toHaveProperty('openapi', '3.1.0');
  });

  it('refuses a route that is no operation, an id that is taken and a path parameter that nobody validates', async () => {
    @Controller()
    class Bare {
      @Get('bare')
      bare(): void {}
    }
    @Controller('twice')
    class Twice {
      @Operation({ id: 'list-things', summary: 'Again' })
      @Get()
      list(): void {}
    }
    @Controller('loose')
    class Loose {
      @Operation({ id: 'get-loose', summary: 'Loose' })
      @Get(':id')
      read(): void {}
    }
    const documentOf = (controller: Type): Promise<unknown> => previewDocument({ module: RootModule, controllers: [controller] });
    await expect(documentOf(Bare)).rejects.toThrow('Bare.bare is a route without @Operation');
    await expect(documentOf(Twice)).rejects.toThrow('two operations are called list-things');
    await expect(documentOf(Loose)).rejects.toThrow('get-loose has no @Param for {id}');
  });

  it('refuses an @Operation that cannot see its method', () => {
    const declare = (): unknown => {
      class Below {
        @Get()
        @Operation({ id: 'below', summary: 'Below' })
        read(): void {}
      }
      return Below;
    };
    expect(declare).toThrow('@Operation of below must stand above the decorator of its route');
  });
});

describe('canonicalJson', () => {
  it('does not depend on the order of members', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe(canonicalJson({ a: null, b: [{ c: 2, d: 1 }] }));
  });
});
