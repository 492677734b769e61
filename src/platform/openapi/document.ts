import { STATUS_CODES } from 'node:http';
import type { DynamicModule, Type } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { z } from 'zod';
import { PROBLEMS } from '../../contract/problems.js';
import { VERSION } from '../../contract/version.js';
import { IDEMPOTENCY_KEY_FACTORY } from '../http/caller.decorator.js';
import type { FrameSpec, OperationSpec, ResponseHeader } from '../http/operation.decorator.js';
import { componentSchemas, parameterSchema, schemaOf, type JsonSchema } from './components.js';
import { collectOperations, type RouteOperation } from './operations.js';

/** The OpenAPI 3.1 document of an application: its routes' `@Operation`s and the schemas that validate them. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly unknown[];
  readonly security: readonly unknown[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, unknown>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
}

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/ErrorModel' } } };
const REQUEST_ID = { 'X-SVC-Request-Id': { $ref: '#/components/headers/X-SVC-Request-Id' } };
const MUTATIONS = new Set(['post', 'put', 'patch', 'delete']);
const HEADERS: Readonly<Record<ResponseHeader, unknown>> = {
  'X-SVC-Index': {
    description: "The head of the city's event log at the time of the answer.",
    schema: { type: 'integer', format: 'int64', minimum: 0 },
  },
  'X-SVC-Cache-Age-S': { description: 'The age of what the answer was made from, in seconds.', schema: { type: 'number', format: 'double' } },
  'Retry-After': { description: 'Seconds after which the request may be repeated.', schema: { type: 'integer', minimum: 0 } },
};
const DESCRIPTION = `One control plane for many cities.

Every mutation carries the header \`X-SVC-Request\` (any value). Every response carries \`X-SVC-Request-Id\`. Every error is a
problem (RFC 9457) whose \`detail\` begins with its \`code\` and a colon. Asynchronous operations answer 202 and end with exactly
one event that carries their \`request_id\`.`;

/** Builds the document for everything reachable from `root`. Needs neither configuration nor database. */
export function buildDocument(root: Type | DynamicModule): OpenApiDocument {
  const operations = collectOperations(root);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = describe(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Supervisor control plane',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'Where this document was read.' }],
    security: [{ apiKey: [] }, {}],
    tags: [...new Set(operations.map((operation) => operation.tag))].sort().map((name) => ({ name })),
    paths,
    components: {
      headers: { 'X-SVC-Request-Id': { description: 'Names this response in the logs.', schema: { type: 'string' } } },
      schemas: componentSchemas(),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `svc_…`. Needed only when the server runs with SVC_AUTH=keys.' },
      },
    },
  };
}

function describe(operation: RouteOperation): Record<string, unknown> {
  const { spec, method } = operation;
  const body = operation.parameters.find((p) => p.kind === RouteParamtypes.BODY && p.schema instanceof z.ZodType);
  const parameters = [...pathParameters(operation), ...queryParameters(operation), ...headerParameters(operation)];
  return {
    operationId: spec.id,
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    tags: [operation.tag],
    ...(spec.public === true ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body.schema as z.ZodType) } } } }),
    responses: responses(spec, MUTATIONS.has(method)),
  };
}

function pathParameters({ pathParameters: names, parameters }: RouteOperation): unknown[] {
  const schemas = new Map<string, z.ZodType>();
  for (const { kind, data, schema } of parameters) {
    if (kind !== RouteParamtypes.PARAM || !(schema instanceof z.ZodType)) continue;
    if (typeof data === 'string') schemas.set(data, schema);
    else if (schema instanceof z.ZodObject) for (const [name, member] of Object.entries(schema.shape)) schemas.set(name, member as z.ZodType);
  }
  return names.map((name) => {
    const schema = schemas.get(name);
    const documented = schema === undefined ? { type: 'string', minLength: 1, pattern: '\\S' } : parameterSchema(schema);
    return { in: 'path', name, required: true, schema: documented };
  });
}

function queryParameters({ parameters }: RouteOperation): unknown[] {
  const found: unknown[] = [];
  for (const { kind, data, schema } of parameters) {
    if (kind !== RouteParamtypes.QUERY || !(schema instanceof z.ZodType)) continue;
    const members = typeof data === 'string' ? { [data]: schema } : schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};
    for (const [name, member] of Object.entries(members)) {
      const { description, ...documented } = parameterSchema(member);
      const required = !member.safeParse(undefined).success;
      found.push({
        in: 'query',
        name,
        explode: false,
        ...(required ? { required } : {}),
        ...(description === undefined ? {} : { description }),
        schema: documented,
      });
    }
  }
  return found;
}

function headerParameters({ method, spec, parameters }: RouteOperation): unknown[] {
  const found: unknown[] = [];
  if (MUTATIONS.has(method)) {
    const description = 'Any value; shows that the call is not a forged form.';
    // The example is what Swagger UI fills in, so that trying an operation out needs no thought.
    found.push({ in: 'header', name: 'X-SVC-Request', required: true, description, example: 'docs', schema: { type: 'string', minLength: 1 } });
  }
  if (parameters.some((p) => p.factory === IDEMPOTENCY_KEY_FACTORY)) {
    const description = 'Repeating the request with the same key and body gives the first answer again.';
    found.push({ in: 'header', name: 'Idempotency-Key', description, schema: { type: 'string', maxLength: 255 } });
  }
  if (spec.stream !== undefined) {
    const description = 'The id of the last frame received; wins over the position in the query.';
    found.push({ in: 'header', name: 'Last-Event-ID', description, schema: { type: 'string' } });
  }
  return found;
}

/** What the front door may answer for an operation belongs to it: an unknown query parameter, a stray body, a busy database. */
function responses(spec: OperationSpec, mutation: boolean): Record<string, unknown> {
  const refusals = new Set<number>((spec.problems ?? []).map((name) => PROBLEMS[name].status));
  if (spec.public !== true) for (const status of [401, 503]) refusals.add(status);
  if (mutation) for (const status of [400, 403, 413, 415]) refusals.add(status);
  refusals.add(422);
  refusals.add(500);
  const status = spec.status ?? 200;
  const found: Record<string, unknown> = { [status]: success(spec, status) };
  for (const refused of [...refusals].sort((a, b) => a - b)) found[refused] = refusal(STATUS_CODES[refused] ?? 'Error', refused === 503);
  found.default = refusal('Error', false);
  return found;
}

function refusal(description: string, retry: boolean): unknown {
  return { description, headers: retry ? { ...REQUEST_ID, 'Retry-After': HEADERS['Retry-After'] } : REQUEST_ID, content: PROBLEM };
}

function success(spec: OperationSpec, status: number): unknown {
  const headers: Record<string, unknown> = { ...REQUEST_ID };
  for (const name of spec.headers ?? []) headers[name] = HEADERS[name];
  const content =
    spec.stream !== undefined
      ? { 'text/event-stream': { schema: { type: 'array', items: { oneOf: frames(spec.stream) } } } }
      : spec.response !== undefined
        ? { [spec.contentType ?? 'application/json']: { schema: schemaOf(spec.response) } }
        : undefined;
  return { description: STATUS_CODES[status] ?? 'Success', headers, ...(content === undefined ? {} : { content }) };
}

/** In the order of their names, like everything in the document. */
function frames(stream: readonly FrameSpec[]): JsonSchema[] {
  const sorted = [...stream].sort((a, b) => (a.event < b.event ? -1 : 1));
  return sorted.map(({ event, data, id }) => {
    const properties = { data: schemaOf(data), event: { type: 'string', const: event }, id: { type: id ?? 'string' }, retry: { type: 'integer' } };
    return { type: 'object', properties, required: ['data', 'event'] };
  });
}
