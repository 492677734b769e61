import { readFileSync } from 'node:fs';
import addFormats from 'ajv-formats';
import { Ajv2020, type ErrorObject, type FuncKeywordDefinition, type ValidateFunction } from 'ajv/dist/2020.js';
import { problemFaults } from './problem-rules.js';

/**
 * Holds real answers against the committed OpenAPI document. Every server that `speaksContract` has named is checked
 * by the clients of test/support: a suite fails as soon as one answer or frame is not what the document says.
 */
export interface Answer {
  readonly method: string;
  /** The request target, query included. */
  readonly target: string;
  readonly status: number;
  readonly headers: Headers;
  /** Undefined for a stream, whose frames are checked one by one. */
  readonly text?: string | undefined;
}

export interface FrameText {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly retry?: number | undefined;
  readonly data: unknown;
}

export interface DocumentedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly definition: OperationObject;
}

interface ComponentSchema {
  readonly discriminator?: Discriminator;
  readonly oneOf?: readonly { readonly $ref: string }[];
  readonly properties?: Readonly<Record<string, { readonly const?: string; readonly enum?: readonly string[] }>>;
}
interface Discriminator {
  readonly propertyName: string;
  readonly mapping: Readonly<Record<string, string>>;
}
interface MediaType {
  readonly schema: object;
  readonly example?: object;
}
interface ResponseObject {
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly schema?: object }>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}
export interface ParameterObject {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}
export interface OperationObject {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly 'x-commands'?: readonly string[];
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}
export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ComponentSchema>>;
    readonly headers: object;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

export const documentFile = new URL('../../openapi/openapi.json', import.meta.url);

/** What the front door answers on any path whatever: documented once, as the `default` of every operation. */
const FRONT_DOOR = new Set(['host-not-allowed', 'method-not-allowed', 'uri-too-long', 'headers-too-large', 'request-timeout']);
/** Documented headers that say something by being there. */
const SOMETIMES = new Set(['Retry-After', 'SVC-Session-Status', 'SVC-Agent-Status']);
/** Served beside the typed contract. */
const UNTYPED = /^\/(openapi\.json|(docs|ui)(\/.*)?)?$/;

export class Contract {
  readonly operations: readonly DocumentedOperation[];
  /** `<operation id> <status>` of every answer checked so far, and `<operation id> <event>` of every frame. */
  readonly seen = new Set<string>();
  readonly #ajv: Ajv2020;
  readonly #routes: readonly { readonly pattern: RegExp; readonly operation: DocumentedOperation }[];
  /** By the text of a schema: a hundred operations share few of them. */
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #byPlace = new Map<string, ValidateFunction>();

  constructor(readonly document: OpenApi) {
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, definition]) => ({
        id: definition.operationId,
        method: method.toUpperCase(),
        path,
        definition: { ...definition, responses: this.#responses(definition.responses) },
      })),
    );
    // Fixed segments come before parameters, as in the router.
    this.#routes = [...this.operations]
      .sort((a, b) => (a.path.match(/\{/g)?.length ?? 0) - (b.path.match(/\{/g)?.length ?? 0))
      .map((operation) => ({ operation, pattern: new RegExp(`^${operation.path.replace(/\./g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }));
    // A schema that others refer to is compiled once. To optimise takes longer than what is optimised runs.
    this.#ajv = new Ajv2020({ strict: true, strictTypes: false, inlineRefs: false, allowUnionTypes: true, code: { optimize: false } });
    (addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    for (const word of ['x-problem-types', 'example']) this.#ajv.addKeyword(word);
    this.#ajv.addKeyword(this.#discriminator());
    this.#ajv.addSchema({ $id: 'openapi', $defs: local(document.components.schemas) as Record<string, object> });
  }

  /**
   * A variant is compiled when a value first names it: of a hundred kinds of events a file sees a few. The document's own tests show
   * that the mapping names every variant, and each by what it alone allows.
   */
  #discriminator(): FuncKeywordDefinition {
    const validate: NonNullable<FuncKeywordDefinition['validate']> = ({ propertyName, mapping }: Discriminator, value: unknown) => {
      const reference = mapping[String((value as Record<string, unknown> | null)?.[propertyName])];
      const variant = reference === undefined ? undefined : this.#ajv.getSchema(inside(reference));
      if (variant?.(value) === true) return true;
      validate.errors = variant?.errors ?? [{ keyword: 'discriminator', message: `names no variant by ${propertyName}` }];
      return false;
    };
    return { keyword: 'discriminator', validate };
  }

  /** With those that operations share in the place of their references. */
  #responses(responses: OperationObject['responses']): OperationObject['responses'] {
    const { components } = this.document;
    const resolved = ([status, response]: [string, ResponseObject & { readonly $ref?: string }]): [string, ResponseObject] => [
      status,
      response.$ref === undefined ? response : components.responses[response.$ref.split('/').pop()!]!,
    ];
    return Object.fromEntries(Object.entries(responses).map(resolved));
  }

  find(method: string, target: string): DocumentedOperation | undefined {
    const path = target.split('?', 1)[0]!;
    const wanted = method === 'HEAD' ? 'GET' : method;
    return this.#routes.find(({ pattern, operation }) => operation.method === wanted && pattern.test(path))?.operation;
  }

  /** What is wrong with `value` as an instance of a component, or undefined. */
  componentFault(name: string, value: unknown): string | undefined {
    return this.#fault(`component ${name}`, { $ref: `#/components/schemas/${name}` }, value);
  }

  /** Everything about an answer that the document does not allow. */
  faults(answer: Answer): string[] {
    const { method, status, headers } = answer;
    const operation = this.find(method, answer.target);
    const found: string[] = [];
    if (!/^[0-9a-f]{16}$/.test(headers.get('x-svc-request-id') ?? '')) found.push('no X-SVC-Request-Id');
    const body = answer.text === undefined || method === 'HEAD' ? undefined : answer.text;
    if (status >= 400 && body !== undefined) found.push(...problemFaults(answer, body), ...this.#errorModelFaults(body));
    // Lists of events hold what anybody has emitted.
    if (body !== undefined && !/\/events\b/.test(answer.target)) found.push(...offsets(body));
    if (operation === undefined) {
      const untyped = UNTYPED.test(answer.target.split('?', 1)[0]!) || method === 'OPTIONS';
      if (status < 400 && !untyped) found.push(`an undocumented operation answered ${status}`);
      return found;
    }
    this.seen.add(`${operation.id} ${status}`);
    const response = operation.definition.responses[status] ?? (isFrontDoor(body) ? operation.definition.responses.default : undefined);
    if (response === undefined) return [...found, `status ${status} is not documented`];
    return [
      ...found,
      ...this.#headerFaults(operation, status, response, headers),
      ...this.#bodyFaults(operation, status, response, headers, body),
    ];
  }

  /** Everything about a frame of a stream that the document does not allow. `begun`: an earlier one had an id. */
  frameFaults(target: string, frame: FrameText, begun = false): string[] {
    const operation = this.find('GET', target);
    const schema = operation?.definition.responses[200]?.content?.['text/event-stream']?.schema as { items?: object } | undefined;
    if (operation === undefined || schema?.items === undefined) return ['a frame of something that is not a documented stream'];
    this.seen.add(`${operation.id} ${frame.event ?? '(no event)'}`);
    if (typeof frame.data === 'string' && frame.data === '' && frame.event === undefined) return ['an empty frame'];
    const integerId = /"id":\{[^}]*"type":"integer"/.test(JSON.stringify(schema));
    const id = frame.id !== undefined && integerId && /^\d+$/.test(frame.id) ? Number(frame.id) : frame.id;
    const given = Object.fromEntries(Object.entries({ ...frame, id }).filter(([, value]) => value !== undefined));
    const fault = this.#fault(`${operation.id} frame`, schema.items, given);
    // What a stream of a session begins with is several frames, of which the last has the position.
    const without = frame.id === undefined && (begun || operation.id !== 'stream-session');
    if (fault === undefined) return without ? ['a frame without an id'] : [];
    return [`frame ${frame.event}: ${fault}`];
  }

  #errorModelFaults(body: string): string[] {
    const fault = this.componentFault('ErrorModel', parse(body));
    return fault === undefined ? [] : [`the problem is no ErrorModel: ${fault}`];
  }

  #headerFaults(operation: DocumentedOperation, status: number, response: ResponseObject, headers: Headers): string[] {
    const found: string[] = [];
    for (const [name, { $ref, schema }] of Object.entries(response.headers ?? {})) {
      const value = headers.get(name);
      if (value === null && !SOMETIMES.has(name)) found.push(`the documented header ${name} is missing`);
      if (value === null || $ref !== undefined || schema === undefined) continue;
      const numeric = /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
      const fault = this.#fault(`${operation.id} ${status} ${name}`, schema, numeric);
      if (fault !== undefined) found.push(`header ${name}: ${fault}`);
    }
    return found;
  }

  #bodyFaults(
    operation: DocumentedOperation,
    status: number,
    response: ResponseObject,
    headers: Headers,
    body: string | undefined,
  ): string[] {
    const type = headers.get('content-type')?.split(';', 1)[0]!.trim();
    if (response.content === undefined) return body === undefined || body === '' ? [] : ['a body where none is documented'];
    const media = type === undefined ? undefined : response.content[type];
    if (media === undefined) return [`content type ${type} is not documented`];
    if (body === undefined || type === 'text/event-stream') return [];
    const value = type!.endsWith('json') ? parse(body) : body;
    const fault = this.#fault(`${operation.id} ${status} ${type}`, media.schema, value);
    return fault === undefined ? [] : [`body: ${fault}`];
  }

  #fault(key: string, schema: object, value: unknown): string | undefined {
    let validate = this.#byPlace.get(key);
    if (validate === undefined) {
      const text = JSON.stringify(schema);
      validate = this.#compiled.get(text) ?? this.#ajv.compile(local(schema));
      this.#compiled.set(text, validate);
      this.#byPlace.set(key, validate);
    }
    return validate(value) ? undefined : explain(validate.errors);
  }
}

/** Times of ours that do not end in `Z`. */
function offsets(json: string): string[] {
  return (json.match(/"(?:ts|\w+_at|\w+_until)":"\d{4}-[^"]*[+-]\d\d:\d\d"/g) ?? []).map((time) => `a time with an offset: ${time}`);
}

/** A reference into the document's components as one into the schema that holds them here. */
const inside = (reference: string): string => reference.replace('#/components/schemas/', 'openapi#/$defs/');

/** The same of all references of a schema. Of a union that is told apart by a member, that says everything. */
function local(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as unknown;
    const { $ref, oneOf, ...rest } = value as { readonly $ref?: unknown; readonly oneOf?: unknown };
    const isUnion = oneOf !== undefined && !('discriminator' in rest);
    return { ...rest, ...(typeof $ref === 'string' && { $ref: inside($ref) }), ...(isUnion && { oneOf }) };
  }) as object;
}

function explain(errors: ErrorObject[] | null | undefined): string {
  return (errors ?? [])
    .slice(-5)
    .map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`)
    .join('; ');
}

function isFrontDoor(body: string | undefined): boolean {
  if (body === undefined) return true;
  const { code } = (parse(body) ?? {}) as { code?: string };
  return code !== undefined && FRONT_DOOR.has(code);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export class ContractViolation extends Error {}

let committed: Contract | undefined;
const servers = new Set<string>();

/** Reads that take what they give away from others: it is asked of them what is asked of a change. */
export const CLAIMS: ReadonlySet<string> = new Set(['stream-extmsg-publications']);

/** The committed document, read once a test file. */
export function contract(): Contract {
  return (committed ??= new Contract(JSON.parse(readFileSync(documentFile, 'utf8')) as OpenApi));
}

/** From now on whatever the server at `url` answers to the clients of test/support is held against the document. */
export function speaksContract(url: string): void {
  servers.add(new URL(url).host);
}

export function forgetContract(url: string): void {
  servers.delete(new URL(url).host);
}

function isChecked(url: string): boolean {
  return servers.size > 0 && servers.has(new URL(url).host);
}

/** What a program of a city says is no part of the contract; what is refused on the way to it is a problem like all others. */
function isOfService({ target, headers, status }: Answer): boolean {
  return /\/v0\/city\/[^/?]+\/svc(?:[/?]|$)/.test(target) && (status < 400 || headers.get('content-type') !== 'application/problem+json');
}

/** @throws ContractViolation when a checked server gave an answer that the document does not allow. */
export function checkAnswer(url: string, answer: Answer): void {
  if (!isChecked(url) || isOfService(answer)) return;
  const found = contract().faults(answer);
  if (found.length > 0) throw violation(`${answer.method} ${answer.target} ${answer.status}`, found, answer.text);
}

/** The violations of one frame, as text; empty when its server is not checked. */
export function frameViolation(url: string, frame: FrameText, begun: boolean): ContractViolation | undefined {
  if (!isChecked(url)) return undefined;
  const { pathname, search } = new URL(url);
  const found = contract().frameFaults(pathname + search, frame, begun);
  return found.length === 0 ? undefined : violation(`frame of ${pathname}`, found, JSON.stringify(frame));
}

function violation(what: string, faults: readonly string[], body: string | undefined): ContractViolation {
  const short = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)}…` : text);
  return new ContractViolation(`${short(what, 300)} breaks the contract:\n  ${faults.join('\n  ')}\n${short(body ?? '', 2_000)}`);
}

/** The media type of the body that an operation takes; JSON for what is none. */
export function consumed(method: string, target: string): string {
  const operation = target.includes('/formulas/') ? contract().find(method, target) : undefined;
  return Object.keys(operation?.definition.requestBody?.content ?? {})[0] ?? 'application/json';
}
