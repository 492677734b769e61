import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Body, Controller, Delete, Get, Module, Param, Post, Query } from '@nestjs/common';
import { z } from 'zod';
import { queryInt, queryList } from '../../contract/query.js';
import { contract } from '../../contract/registry.js';
import { AsyncAcceptedResponse } from '../../contract/scalars.js';
import { IdempotencyKey } from '../http/caller.decorator.js';
import { Operation } from '../http/operation.decorator.js';
import { canonicalJson } from './canonical.js';
import { buildDocument, type OpenApiDocument } from './document.js';

const Small = contract('TestSmall', z.strictObject({ kind: z.literal('small'), note: z.string().nullable(), count: z.int() }));
const Large = contract('TestLarge', z.strictObject({ kind: z.literal('large'), parts: z.array(Small).nullable(), first: Small.nullable() }));
const Thing = contract('TestThing', z.discriminatedUnion('kind', [Small, Large]));
const ThingQuery = z.strictObject({ limit: queryInt({ min: 0, max: 9, default: 3 }), names: queryList() });

@Controller('v0/city/:cityName')
class ThingsController {
  @Post('things')
  @Operation({ id: 'create-thing', summary: 'Create', status: 202, response: AsyncAcceptedResponse, problems: ['conflict', 'provider_not_ready'] })
  create(@Body({ schema: Thing }) _body: unknown, @IdempotencyKey() _key: string | undefined): void {}

  @Get('things')
  @Operation({ id: 'list-things', summary: 'List', response: Large, headers: ['X-SVC-Index'] })
  list(@Query({ schema: ThingQuery }) _query: unknown): void {}

  @Get('things/stream')
  @Operation({ id: 'stream-things', summary: 'Stream', stream: [{ event: 'thing', data: Thing }] })
  stream(): void {}

  @Delete('things/:id')
  @Operation({ id: 'delete-thing', summary: 'Delete', status: 204 })
  remove(@Param('id', { schema: z.string().max(9) }) _id: string): void {}
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}
@Module({ imports: [ThingsModule] })
class RootModule {}

function dig(node: unknown, ...keys: string[]): unknown {
  return keys.reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], node);
}
const document: OpenApiDocument = buildDocument({ module: RootModule, imports: [ThingsModule] });
const at = (path: string, method: string): Record<string, unknown> => document.paths[path]?.[method] as Record<string, unknown>;
const parameters = (path: string, method: string): unknown =>
  (at(path, method).parameters as { in: string; name: string; required?: boolean }[]).map((p) => [p.in, p.name, p.required === true]);

describe('buildDocument', () => {
  it('finds the operations of imported modules once', () => {
    expect(Object.keys(document.paths)).toEqual(['/v0/city/{cityName}/things', '/v0/city/{cityName}/things/stream', '/v0/city/{cityName}/things/{id}']);
  });

  it('documents parameters of every kind', () => {
    expect(parameters('/v0/city/{cityName}/things', 'post')).toEqual([
      ['path', 'cityName', true],
      ['header', 'X-SVC-Request', true],
      ['header', 'Idempotency-Key', false],
    ]);
    expect(parameters('/v0/city/{cityName}/things', 'get')).toEqual([
      ['path', 'cityName', true],
      ['query', 'limit', false],
      ['query', 'names', false],
    ]);
    expect(parameters('/v0/city/{cityName}/things/stream', 'get')).toContainEqual(['header', 'Last-Event-ID', false]);
    const [, limit, names] = at('/v0/city/{cityName}/things', 'get').parameters as { schema: unknown }[];
    expect(limit?.schema).toEqual({ type: 'integer', format: 'int64', minimum: 0, maximum: 9, default: 3 });
    expect(names?.schema).toMatchObject({ type: 'array', items: { type: 'string' } });
  });

  it('refers to registered schemas and describes refusals as problems', () => {
    const create = at('/v0/city/{cityName}/things', 'post');
    expect(dig(create, 'requestBody', 'content', 'application/json', 'schema')).toEqual({ $ref: '#/components/schemas/TestThing' });
    expect(Object.keys(dig(create, 'responses') as object)).toEqual(['202', '400', '401', '403', '409', '413', '415', '422', '500', '503', 'default']);
    expect(dig(create, 'responses', '409', 'content')).toEqual({ 'application/problem+json': { schema: { $ref: '#/components/schemas/ErrorModel' } } });
    for (const response of Object.values(dig(create, 'responses') as Record<string, { headers: object }>)) expect(response.headers).toHaveProperty('X-SVC-Request-Id');
    const list = at('/v0/city/{cityName}/things', 'get');
    expect(Object.keys(dig(list, 'responses', '200', 'headers') as object)).toEqual(['X-SVC-Request-Id', 'X-SVC-Index']);
  });

  it('describes streams as arrays of frames', () => {
    const stream = at('/v0/city/{cityName}/things/stream', 'get');
    const frames = dig(stream, 'responses', '200', 'content', 'text/event-stream', 'schema', 'items', 'oneOf');
    expect(frames).toMatchObject([
      { properties: { event: { const: 'thing' }, data: { $ref: '#/components/schemas/TestThing' } }, required: ['data', 'event'] },
    ]);
  });

  it('converts schemas to the dialect of 3.1', () => {
    const { TestSmall, TestLarge, TestThing } = document.components.schemas;
    expect(TestSmall).toEqual({
      type: 'object',
      properties: { kind: { type: 'string', const: 'small' }, note: { type: ['string', 'null'] }, count: { type: 'integer', format: 'int64' } },
      required: ['kind', 'note', 'count'],
      additionalProperties: false,
    });
    expect(TestLarge?.properties).toMatchObject({
      parts: { type: ['array', 'null'], items: { $ref: '#/components/schemas/TestSmall' } },
      first: { anyOf: [{ $ref: '#/components/schemas/TestSmall' }, { type: 'null' }] },
    });
    expect(TestThing?.discriminator).toEqual({
      propertyName: 'kind',
      mapping: { small: '#/components/schemas/TestSmall', large: '#/components/schemas/TestLarge' },
    });
  });

  it('refuses a route that is no operation and an id that is taken', () => {
    @Controller()
    class Bare {
      @Get('bare')
      bare(): void {}
    }
    @Controller('twice')
    class Twice {
      @Get()
      @Operation({ id: 'list-things', summary: 'Again' })
      list(): void {}
    }
    expect(() => buildDocument({ module: RootModule, controllers: [Bare] })).toThrow('Bare.bare is a route without @Operation');
    expect(() => buildDocument({ module: RootModule, controllers: [Twice] })).toThrow('two operations are called list-things');
  });
});

describe('canonicalJson', () => {
  it('does not depend on the order of members', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe(canonicalJson({ a: null, b: [{ c: 2, d: 1 }] }));
  });
});
