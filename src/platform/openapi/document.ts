import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';
import { FAMILIES } from '../../contract/families.js';
import { VERSION } from '../../contract/version.js';
import type { RootModule } from '../http/http-app.js';
import { BODY_EXAMPLE, CHANGE_SCHEME } from '../http/operation.documentation.js';
import { sample } from './answer-examples.js';
import { smallest } from './body-examples.js';
import { componentSchemas, schemaOf, type JsonSchema } from './components.js';
import { INTRODUCTION } from './introduction.js';
import { REFUSALS, shareRefusals } from './refusals.js';

/**
 * The OpenAPI 3.1 document of an application: its routes' `@Operation`s, read by @nestjs/swagger, and the components
 * of the contract's registry.
 */
const NO_OPERATION = ' is a route without @Operation';

/**
 * Builds the document of `app`, which need not listen nor be initialised.
 *
 * @throws Error when a route has no `@Operation`, a path parameter no `@Param`, or two operations share an id.
 */
export function buildDocument(app: INestApplication): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, base(), {
    autoTagControllers: false,
    operationIdFactory: (controller, method) => `${controller}.${method}${NO_OPERATION}`,
    standardSchemaConverter: (schema) => ({ schema: convert(schema as unknown as z.ZodType) }),
  });
  const ids = new Set<string>();
  const tags = new Set<string>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const operation of Object.values(item) as Operation[]) {
      check(path, operation, ids);
      tidy(path, operation);
      for (const tag of operation.tags ?? []) tags.add(tag);
    }
  }
  const known = Object.entries(FAMILIES).flatMap(([name, description]) => (tags.delete(name) ? [{ name, description }] : []));
  document.tags = [...known, ...[...tags].sort().map((name) => ({ name }))];
  // The builder's converter rewrites what passes through it for 3.0 (a `const` becomes an `enum`, `examples` an
  // `example`). It therefore sees references only; what they refer to comes from the registry, in one conversion.
  const schemas = componentSchemas();
  for (const item of Object.values(document.paths))
    for (const operation of Object.values(item) as Operation[]) giveExamples(operation, schemas);
  document.components = { ...document.components, schemas: schemas as NonNullable<OpenAPIObject['components']>['schemas'] };
  return document;
}

/** The document of the modules below `root`, none of whose providers is created: nothing is connected to. */
export async function previewDocument(root: RootModule): Promise<OpenAPIObject> {
  return buildDocument(await NestFactory.create(root, new FastifyAdapter(), { preview: true, logger: false, abortOnError: false }));
}

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  example?: unknown;
  schema?: { example?: unknown };
}
interface Operation {
  operationId: string;
  'x-name': string;
  responses: Record<string, { content?: Record<string, { schema?: JsonSchema; example?: unknown }> }>;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Record<string, unknown>; example?: unknown }> };
  [BODY_EXAMPLE]?: unknown;
  tags?: string[];
}

/** Marks, until the document is tidied, what may be left out: the builder takes every body for required. */
const OPTIONAL = 'x-optional';

function convert(schema: z.ZodType): Record<string, unknown> {
  return schema instanceof z.ZodOptional ? { ...schemaOf(schema.unwrap() as z.ZodType), [OPTIONAL]: true } : schemaOf(schema);
}

function base(): Omit<OpenAPIObject, 'paths'> {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Supervisor control plane')
    .setVersion(VERSION)
    .setDescription(INTRODUCTION)
    .addServer('/', 'Where this document was read.')
    .setExternalDoc('The guide: a tutorial, how-to pages, every key, event and command', '/guide')
    .addSecurity('apiKey', {
      type: 'http',
      scheme: 'bearer',
      description:
        'An API key, `svc_…`. Needed only when the server runs with SVC_AUTH=keys. What an operation needs of it stands beside it: nothing ' +
        'more (`read`), one of its rights (`operate`, `configure`, `commands`, `audit`), to be limited to no cities (`all-cities`), or that and ' +
        'every right (`administer`). `x-commands` names the members of a body with which it needs `commands` too.',
    })
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'X-SVC-Request',
        description:
          'No secret: any text, the name of your program for instance. Every request that changes something carries it, with and without a ' +
          'key, because a page of another site cannot send it. Generators of clients set it once, as they set a key.',
      },
      CHANGE_SCHEME,
    )
    .addSecurityRequirements('apiKey')
    .addSecurityRequirements({})
    .build();
  const { contact: _empty, ...info } = config.info;
  // 3.1's licence identifier and shared headers are beyond the builder.
  const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
  const headers = { 'X-SVC-Request-Id': { description: 'Names this response in the logs.', schema: { type: 'string' } } };
  return { ...config, info: { ...info, license }, components: { ...config.components, headers, responses: REFUSALS as never } };
}

function check(path: string, { operationId, 'x-name': name, parameters = [] }: Operation, ids: Set<string>): void {
  if (operationId.endsWith(NO_OPERATION)) throw new Error(operationId);
  for (const id of new Set([operationId, name])) {
    if (ids.has(id)) throw new Error(`two operations are called ${id}`);
    ids.add(id);
  }
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
    if (!parameters.some((p) => p.in === 'path' && p.name === name)) throw new Error(`${operationId} has no @Param for {${name}}`);
  }
}

const SHOWN = ['application/json', 'text/event-stream'] as const;

/** Whoever tries an operation out sends what it must have, and nothing that he has not chosen; he sees what may come of it. */
function giveExamples(operation: Operation, schemas: Readonly<Record<string, JsonSchema>>): void {
  const given = operation[BODY_EXAMPLE];
  delete operation[BODY_EXAMPLE];
  for (const media of Object.values(operation.requestBody?.content ?? {})) media.example = given ?? smallest(media.schema ?? {}, schemas);
  for (const answer of Object.values(operation.responses)) {
    for (const type of SHOWN) {
      const media = answer.content?.[type];
      if (media?.schema !== undefined) media.example = sample(media.schema, schemas);
    }
  }
  for (const parameter of operation.parameters ?? []) if (parameter.name === 'cityName') parameter.example = 'my-city';
}

/** What the decorators say in more words than the document: empty lists, defaults, an example inside its schema. */
function tidy(path: string, operation: Operation): void {
  // In the order of the path: generators make positional arguments of them.
  const place = ({ in: where, name }: Parameter): number => (where === 'path' ? path.indexOf(`{${name}}`) : path.length);
  operation.parameters?.sort((one, other) => place(one) - place(other));
  if (operation.parameters?.length === 0) delete operation.parameters;
  shareRefusals(operation.responses);
  for (const { schema } of Object.values(operation.requestBody?.content ?? {})) {
    if (schema?.[OPTIONAL] === undefined) continue;
    delete schema[OPTIONAL];
    delete operation.requestBody!.required;
  }
  for (const parameter of operation.parameters ?? []) {
    if (parameter.required === false) delete parameter.required;
    if (parameter.schema?.example === undefined) continue;
    parameter.example = parameter.schema.example;
    delete parameter.schema.example;
  }
}
