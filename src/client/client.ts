import createClient, { type Client as RawClient } from 'openapi-fetch';
import type { paths } from './api.gen.js';
import type { Answer, Caller, Common, Data, Given, Method, Opening, Options, PathsWith } from './calls.js';
import { Conversation } from './conversation.js';
import { EventStream, feedOf, type EventOf, type EventsOptions, type SomeEvent } from './events.js';
import { KEYED } from './keyed.gen.js';
import { Limit, LimitedRequest } from './limit.js';
import { LISTS } from './lists.gen.js';
import { itemsOf, type ListPage } from './pages.js';
import { ConnectionError, NoName, problemOf, ProtocolError } from './problems.js';
import { LONGEST_MS } from './sleep.js';
import { newKey, Transport } from './transport.js';
import { waitFor, type Accepted, type Outcome, type WaitOptions } from './waiting.js';

export interface ConnectOptions {
  /** Where the service is; several are replicas of one, of which any will do. In a browser it may be relative to the page. */
  readonly url: string | readonly string[];
  /** An API key, or the token of a session. */
  readonly key?: string | undefined;
  /** How long a call is tried again while nobody answers or the service is busy; 0 for never. */
  readonly retryMs?: number;
  /** How long a call may take with all its tries. */
  readonly timeoutMs?: number;
  /** What the audit log and the service's own log see as the client. */
  readonly name?: string;
  /** Instead of the platform's: for a proxy, or certificates of one's own. */
  readonly fetch?: typeof globalThis.fetch;
}

type ListName<P> = P extends keyof typeof LISTS ? (typeof LISTS)[P] : 'items';
/** What a list has; nothing, where the answer is no list. */
type Item<P extends PathsWith<'get'>> = Data<P, 'get'> extends { [N in ListName<P>]?: readonly (infer I)[] | null | undefined } ? I : never;
type Query = { readonly query?: object };

const RETRY_MS = 20_000;
const TIMEOUT_MS = 30_000;

/** A service, as one key sees it. */
export class Client implements Caller {
  /** The calls as `openapi-fetch` has them, for whoever wants an answer with its error instead of an exception. */
  readonly http: RawClient<paths>;
  readonly #transport: Transport;
  readonly #timeoutMs: number;

  constructor(options: ConnectOptions) {
    // Who has no types may have forgotten it.
    const given = typeof options.url === 'string' ? [options.url] : ((options.url as readonly string[] | undefined) ?? []);
    if (given.length === 0) throw new TypeError('no address of the service is given');
    const urls = given.map(baseOf);
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#transport = new Transport({
      urls,
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      retryMs: options.retryMs ?? RETRY_MS,
    });
    this.http = createClient<paths>({
      baseUrl: urls[0]!,
      Request: LimitedRequest,
      fetch: (request) => this.#transport.send(request, (request as LimitedRequest).limit),
      headers: options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` },
    });
    const name = options.name ?? 'client';
    this.http.use({
      onRequest({ request, schemaPath, params }) {
        const { method, headers } = request;
        checkPath(method, schemaPath, params.path);
        // Reads that take what they give away are asked for it as well.
        if (!headers.has('x-svc-request')) headers.set('x-svc-request', name);
        if (KEYED.has(`${method} ${schemaPath}`) && !headers.has('idempotency-key')) headers.set('idempotency-key', newKey());
      },
    });
  }

  /** The address that answers now. */
  get url(): string {
    return this.#transport.url;
  }

  /** One call, with its response. @throws ApiProblem, ConnectionError, ProtocolError; the signal's reason when that aborts */
  async call<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    ...[options]: Given<Options<P, M>>
  ): Promise<Answer<Data<P, M>>> {
    const { signal, timeoutMs = this.#timeoutMs, ...rest } = (options ?? {}) as Common & Sections;
    return (await this.#ask(method, path, rest, new Limit(timeoutMs, signal))) as Answer<Data<P, M>>;
  }

  async get<P extends PathsWith<'get'>>(path: P, ...given: Given<Options<P, 'get'>>): Promise<Data<P, 'get'>> {
    return (await this.call('get', path, ...given)).data;
  }

  async post<P extends PathsWith<'post'>>(path: P, ...given: Given<Options<P, 'post'>>): Promise<Data<P, 'post'>> {
    return (await this.call('post', path, ...given)).data;
  }

  async put<P extends PathsWith<'put'>>(path: P, ...given: Given<Options<P, 'put'>>): Promise<Data<P, 'put'>> {
    return (await this.call('put', path, ...given)).data;
  }

  async patch<P extends PathsWith<'patch'>>(path: P, ...given: Given<Options<P, 'patch'>>): Promise<Data<P, 'patch'>> {
    return (await this.call('patch', path, ...given)).data;
  }

  async delete<P extends PathsWith<'delete'>>(path: P, ...given: Given<Options<P, 'delete'>>): Promise<Data<P, 'delete'>> {
    return (await this.call('delete', path, ...given)).data;
  }

  /**
   * The items of a list, whatever its pages call them, page by page as they are wanted. `limit` of the query is how many a page has. @throws
   * ProtocolError where the answer is no list; as `call`
   */
  items<P extends PathsWith<'get'>>(path: P, ...given: Given<Options<P, 'get'>>): AsyncGenerator<Item<P>, void, undefined> {
    const options = (given[0] ?? {}) as Options<P, 'get'> & Query;
    const name = (LISTS as Readonly<Record<string, string>>)[path] ?? 'items';
    return itemsOf(async (page) => {
      const asked = [{ ...options, query: { ...options.query, ...page } }] as unknown as Given<Options<P, 'get'>>;
      const data = ((await this.get(path, ...asked)) ?? {}) as Readonly<Record<string, unknown>>;
      if (name === 'items' && data.items === undefined) throw new ProtocolError(`GET ${path} is no list: its answer has no items`);
      return { ...data, items: data[name] } as ListPage<Item<P>>;
    });
  }

  /**
   * Opens a stream of server-sent events; undefined when it has nothing more to say for good. There is no time-out but for its first
   * byte. @throws as `call`
   */
  async open<P extends PathsWith<'get'>>(path: P, options: Options<P, 'get'> & Opening): Promise<ReadableStream<Uint8Array> | undefined> {
    const { signal, onOpen, ...rest } = options as Sections & Opening;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), Math.min(this.#timeoutMs, LONGEST_MS));
    try {
      const more = { headers: { Accept: 'text/event-stream' }, parseAs: 'stream' };
      const { data, response } = await this.#ask('get', path, rest, new Limit(this.#timeoutMs, signal, late.signal), more);
      onOpen?.(response);
      if (response.status === 204) return undefined;
      const type = response.headers.get('content-type') ?? 'nothing';
      if (data === null || !type.startsWith('text/event-stream'))
        throw new ProtocolError(`${this.url} answered ${type} instead of an event stream`);
      return data as ReadableStream<Uint8Array>;
    } finally {
      clearTimeout(timer);
    }
  }

  /** What happens, for ever, each event once and in the order of its log. */
  events<T extends string = string>(options: EventsOptions<T> & { readonly city: string }): EventStream<EventOf<'city', T>>;
  events<T extends string = string>(options?: EventsOptions<T>): EventStream<EventOf<'supervisor', T>>;
  events(options: EventsOptions = {}): EventStream<SomeEvent<'city' | 'supervisor'>> {
    return new EventStream(this, options);
  }

  /** Where the log of a city, or that of the supervisor, ends now: what `after` takes. */
  head(scope: { readonly city?: string; readonly signal?: AbortSignal } = {}): Promise<string> {
    return feedOf(this, scope).head(scope.signal);
  }

  /** How an accepted request (a 202) has ended. */
  waitFor(accepted: Accepted, options: WaitOptions = {}): Promise<Outcome> {
    return waitFor(this, accepted, options);
  }

  /** A session to talk to, by id, name or alias. */
  session(city: string, id: string): Conversation {
    return new Conversation(this, city, id);
  }

  async #ask(method: Method, path: string, sections: Sections, limit: Limit, more = {}): Promise<Answer<unknown>> {
    const { path: names, query, header, body, idempotencyKey } = sections;
    const key = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    const request = this.http.request as unknown as (method: string, path: string, init: object) => Promise<RawAnswer>;
    const init = { params: { path: names ?? {}, query: query ?? {}, header: { ...header, ...key } }, body, signal: limit.signal, ...more };
    let answer: RawAnswer;
    try {
      answer = await request(method, path, init);
    } catch (error) {
      if (limit.over) {
        const told = { cause: error, idempotencyKey: limit.wrote?.key };
        throw new ConnectionError(`no answer from ${limit.asked ?? this.url} within ${limit.ms / 1_000} s`, true, told);
      }
      if (error instanceof SyntaxError) throw new ProtocolError(`what answers at ${this.url} is not a supervisor: ${error.message}`);
      throw error;
    }
    if (!answer.response.ok) throw problemOf(answer.response, answer.error, limit.wrote);
    return { data: answer.data, response: answer.response };
  }
}

interface Sections {
  readonly path?: object;
  readonly query?: object;
  readonly header?: object;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

interface RawAnswer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** A client of the service at `url`. Nothing is asked yet. */
export function connect(options: ConnectOptions): Client {
  return new Client(options);
}

/** A part of a path that is missing would be asked for by its name in braces, and one of dots would lead to another operation. @throws TypeError */
function checkPath(method: string, schemaPath: string, given: Readonly<Record<string, unknown>> = {}): void {
  const names = [...schemaPath.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const missing = names.filter((name) => given[name] === undefined || given[name] === null);
  if (missing.length > 0) throw new TypeError(`${method} ${schemaPath} needs ${missing.map((name) => `path.${name}`).join(' and ')}`);
  const leads = names.find((name) => ['', '.', '..'].includes(String(given[name])));
  if (leads === undefined) return;
  const value = String(given[leads]);
  throw new NoName(`${method} ${schemaPath}: path.${leads} is no name: '${value}'`, leads, value);
}

/** @throws TypeError */
function baseOf(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  if (!URL.canParse(url, page)) throw new TypeError(`the address of the service is no URL: ${url}`);
  const base = new URL(url, page);
  if (!/^https?:$/.test(base.protocol))
    throw new TypeError(`the address of the service begins with http:// or https://, not with ${base.protocol}`);
  return base.href.replace(/[?#].*$/, '').replace(/\/+$/, '');
}
