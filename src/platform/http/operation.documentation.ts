import { STATUS_CODES } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import {
  ApiConsumes,
  ApiExtension,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiProduces,
  ApiQuery,
  ApiResponse,
  ApiTags,
  type ApiResponseOptions,
  type ApiResponseSchemaHost,
} from '@nestjs/swagger';
import { z } from 'zod';
import { PROBLEMS, type ProblemName } from '../../contract/problems.js';
import { contractName, DEMANDED } from '../../contract/registry.js';
import { PARAMETERS } from '../../contract/vocabulary/parameters.js';
import { IDEMPOTENCY_KEY_FACTORY } from './caller.decorator.js';
import { IF_MATCH_FACTORY, IF_NONE_MATCH_FACTORY } from './if-match.js';
import type { FrameSpec, OperationSpec, ResponseHeader, RouteParameter } from './operation.js';

/**
 * What the document says about an operation, as metadata of @nestjs/swagger. Path parameters and the body are not
 * repeated here: the builder reads them, with their schemas, from the handler's own @Param and @Body.
 */
type Headers = NonNullable<ApiResponseSchemaHost['headers']>;
type Content = NonNullable<Extract<ApiResponseOptions, { content?: unknown }>['content']>;
type Schema = NonNullable<Content[string]['schema']>;

const REQUEST_ID: Headers = { 'X-SVC-Request-Id': { $ref: '#/components/headers/X-SVC-Request-Id' } };
const HEADERS: Readonly<Record<ResponseHeader, Headers[string]>> = {
  'X-SVC-Index': {
    description: "The head of the city's event log at the time of the answer.",
    schema: { type: 'integer', minimum: 0 },
  },
  'X-SVC-Cache-Age-S': {
    description: 'The age of what the answer was made from, in seconds.',
    schema: { type: 'number', format: 'double' },
  },
  Location: { description: 'The path of what the answer is about.', schema: { type: 'string' } },
  ETag: {
    description: 'The quoted revision, for If-Match and If-None-Match. Of a compressed answer it is weak: `W/"3"`.',
    schema: { type: 'string' },
  },
  'SVC-Session-State': { description: 'The state of the session when the stream began.', schema: { type: 'string' } },
  'SVC-Session-Status': { description: '`stopped` when the session had no process; absent otherwise.', schema: { type: 'string' } },
  'SVC-Agent-Status': { description: '`stopped` when the agent had no process; absent otherwise.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds after which the request may be repeated.', schema: { type: 'integer', minimum: 0 } },
};

/** Carries the example of a body until the document is built: the builder makes the body from @Body alone. */
export const BODY_EXAMPLE = 'x-body-example';

/** The members of the body with which a key needs the right to say what is run, too. */
const COMMANDS = 'x-commands';

/** The scheme by which the header of changes is told: it goes with all of them, so that it is no parameter of each. */
export const CHANGE_SCHEME = 'change';

/** What a route is, as far as its documentation depends on it. */
export interface DocumentedRoute {
  readonly mutation: boolean;
  readonly parameters: readonly RouteParameter[];
  readonly tag: string;
}

/** The decorators that document `spec`. */
export function documentation(spec: OperationSpec, route: DocumentedRoute): MethodDecorator {
  const { id: operationId, summary, commands = [] } = spec;
  const description = [spec.description, withCommands(commands)].filter((part) => part !== undefined).join(' ') || undefined;
  return applyDecorators(
    ApiOperation({ operationId, summary, description, security: security(spec, route.mutation) }),
    ApiExtension('x-name', spec.name ?? operationId),
    ApiTags(spec.tag ?? route.tag),
    ...(commands.length === 0 ? [] : [ApiExtension(COMMANDS, commands)]),
    ...(spec.consumes === undefined ? [] : [ApiConsumes(spec.consumes)]),
    ...(spec.example === undefined ? [] : [ApiExtension(BODY_EXAMPLE, spec.example)]),
    ...pathParameters(route),
    ...queryParameters(route),
    ...headerParameters(spec, route),
    ...responses(spec, route),
  );
}

const isDemanded = (schema: z.ZodType): boolean => schema.meta()?.[DEMANDED] === true;

const described = (name: string, schema: unknown): string | undefined =>
  (schema instanceof z.ZodType ? schema.description : undefined) ?? PARAMETERS.get(name);

/** The builder takes path parameters and their schemas from @Param, and leaves out what these say of themselves. */
function pathParameters({ parameters }: DocumentedRoute): MethodDecorator[] {
  return parameters.flatMap(({ kind, data, schema }) =>
    kind === RouteParamtypes.PARAM && typeof data === 'string' ? [ApiParam({ name: data, description: described(data, schema) })] : [],
  );
}

/** The builder takes the schemas of query parameters from @Query; it cannot know how a list is written. */
function queryParameters({ parameters }: DocumentedRoute): MethodDecorator[] {
  return parameters.flatMap(({ kind, data, schema }) => {
    if (kind !== RouteParamtypes.QUERY || !(schema instanceof z.ZodType)) return [];
    const members =
      typeof data === 'string' ? { [data]: schema } : schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};
    return Object.entries(members).map(([name, member]) =>
      ApiQuery({
        name,
        explode: false,
        required: isDemanded(member) || !member.safeParse(undefined).success,
        description: described(name, member),
      }),
    );
  });
}

const withCommands = (members: readonly string[]): string | undefined =>
  members.length === 0 ? undefined : `With ${members.map((name) => `\`${name}\``).join(' or ')} a key needs the right \`commands\` too.`;

/** A key where the server asks for one, and for what changes something the header of changes. */
function security(spec: OperationSpec, mutation: boolean): Record<string, string[]>[] {
  if (spec.public === true) return [];
  const asked = (mutation && spec.foreign !== true && spec.forwarded !== true) || spec.claims === true;
  const change: Record<string, string[]> = asked ? { [CHANGE_SCHEME]: [] } : {};
  return [{ apiKey: [spec.needs ?? 'read'], ...change }, change];
}

function headerParameters(spec: OperationSpec, { parameters }: DocumentedRoute): MethodDecorator[] {
  const found: MethodDecorator[] = [];
  if (parameters.some((p) => p.factory === IDEMPOTENCY_KEY_FACTORY)) {
    const description = 'Repeating the request with the same key and body gives the first answer again.';
    found.push(ApiHeader({ name: 'Idempotency-Key', description, schema: { type: 'string', maxLength: 255 } }));
  }
  if (parameters.some((p) => p.factory === IF_MATCH_FACTORY)) {
    const description = 'The quoted revision that must be the current one, weak or not, or `*`; otherwise 412 and nothing happens.';
    found.push(ApiHeader({ name: 'If-Match', description, schema: { type: 'string' } }));
  }
  if (parameters.some((p) => p.factory === IF_NONE_MATCH_FACTORY)) {
    const description = 'ETags that the client has; the answer is 304 when the current one is among them.';
    found.push(ApiHeader({ name: 'If-None-Match', description, schema: { type: 'string' } }));
  }
  if (spec.stream !== undefined) {
    const description = 'The id of the last frame received; wins over the position in the query.';
    found.push(ApiHeader({ name: 'Last-Event-ID', description, schema: { type: 'string' } }));
  }
  return found;
}

/** What the front door may answer for an operation belongs to it: a broken target, an unknown query parameter, a stray body, a busy database. */
function responses(spec: OperationSpec, { mutation, parameters }: DocumentedRoute): (MethodDecorator & ClassDecorator)[] {
  const problems: ProblemName[] = [...(spec.problems ?? [])];
  if (parameters.some((p) => p.factory === IDEMPOTENCY_KEY_FACTORY)) problems.push('idempotency_in_flight', 'idempotency_mismatch');
  const refusals = new Set<number>([400, 414, 422, 500, ...problems.map((name) => PROBLEMS[name].status)]);
  const codes = (status: number): string[] => [
    ...new Set(problems.flatMap((name) => (PROBLEMS[name].status === status ? [PROBLEMS[name].code] : []))),
  ];
  if (spec.public !== true) for (const status of [401, 429, 503]) refusals.add(status);
  if (mutation) for (const status of [403, 413, 415]) refusals.add(status);
  if (spec.claims === true) refusals.add(403);
  if (parameters.some((p) => p.factory === IF_MATCH_FACTORY)) refusals.add(412);
  const unchanged = parameters.some((p) => p.factory === IF_NONE_MATCH_FACTORY) ? [notModified()] : [];
  const others = (spec.also ?? []).flatMap(({ status, headers = [] }) => success({ ...spec, status, headers }));
  const ended = spec.ends === true ? [ApiResponse({ status: 204, description: 'There will be nothing more.', headers: REQUEST_ID })] : [];
  return [
    ...success(spec),
    ...others,
    ...ended,
    ...unchanged,
    ...[...refusals].map((status) => refusal(status, codes)),
    refusal('default'),
  ];
}

function notModified(): MethodDecorator & ClassDecorator {
  return ApiResponse({ status: 304, description: STATUS_CODES[304]!, headers: { ...REQUEST_ID, ETag: HEADERS.ETag } });
}

/** Only what is the operation's own, the codes: the document puts the component of all others in its place. Several kinds may share a status. */
function refusal(status: number | 'default', codes?: (status: number) => string[]): MethodDecorator & ClassDecorator {
  const told = status === 'default' ? [] : (codes?.(status) ?? []);
  return ApiResponse({ status, description: told.map((code) => `\`${code}\``).join(', ') });
}

function success(spec: OperationSpec): (MethodDecorator & ClassDecorator)[] {
  const status = spec.status ?? 200;
  const headers: Headers = { ...REQUEST_ID };
  for (const name of spec.headers ?? []) headers[name] = HEADERS[name];
  const base = { status, description: STATUS_CODES[status] ?? 'Success', headers };
  if (spec.stream !== undefined) return [ApiResponse({ ...base, content: { 'text/event-stream': eventStream(spec.stream) } })];
  if (spec.response === undefined) return [ApiResponse(base)];
  return [
    ...(spec.contentType === undefined ? [] : [ApiProduces(spec.contentType)]),
    ApiResponse({ ...base, standardSchema: spec.response }),
  ];
}

/** The member of a stream's media type that has what its events carry, as generators of clients want it: see the description of the document. */
const EVENT_DATA = 'x-event-data';

function eventStream(stream: readonly FrameSpec[]): Content[string] {
  const data = [...new Set(stream.map((frame) => contractName(frame.data)))].sort();
  const references = data.map((name) => (name === undefined ? {} : { $ref: `#/components/schemas/${name}` }));
  return { schema: frames(stream), [EVENT_DATA]: references.length === 1 ? references[0] : { anyOf: references } } as Content[string];
}

/**
 * Frames in the order of their names, like everything in the document. Written out, and their data by reference: the
 * builder's converter would rewrite a `const` into an `enum`. Data of no registered schema is any value.
 */
function frames(stream: readonly FrameSpec[]): Schema {
  const sorted = [...stream].sort((a, b) => (a.event < b.event ? -1 : 1));
  const oneOf = sorted.map(({ event, data, id }) => {
    const name = contractName(data);
    const properties: Record<string, Schema> = {
      data: name === undefined ? { description: 'Any JSON.' } : { $ref: `#/components/schemas/${name}` },
      event: { type: 'string', const: event } as Schema,
      id: { type: id ?? 'string', description: 'The position, for `Last-Event-ID`. Absent: that of the frame before.' },
      retry: { type: 'integer', description: 'After how many milliseconds a client that lost the stream should come again.' },
    };
    return { type: 'object', properties, required: ['data', 'event'] };
  });
  return { type: 'array', items: { oneOf } };
}
