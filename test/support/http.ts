import { type Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { checkAnswer, consumed } from './contract.js';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, or undefined when the body is not JSON. */
  readonly body: any;
  readonly text: string;
}

export type RequestHeaders = Readonly<Record<string, string | undefined>>;

export interface Api {
  get(path: string, headers?: RequestHeaders): Promise<Reply>;
  post(path: string, body?: unknown, headers?: RequestHeaders): Promise<Reply>;
  patch(path: string, body?: unknown, headers?: RequestHeaders): Promise<Reply>;
  delete(path: string, body?: unknown, headers?: RequestHeaders): Promise<Reply>;
  /** Any method; a string body goes out unchanged, a header of `undefined` is left out. */
  send(method: string, path: string, body?: unknown, headers?: RequestHeaders): Promise<Reply>;
}

/** The status of a success; of anything else what it says, too: `expect(outcome(reply)).toBe(201)` shows why it failed. */
export const outcome = ({ status, text }: Reply): number | string => (status < 300 ? status : `${status} ${text}`);

const LIMIT_MS = 120_000;

/**
 * A client that sets `X-SVC-Request` on mutations. A connection per call, so that nothing is left open behind a test, unless it is
 * given an agent, which its owner destroys.
 * Answers of servers that speak our contract are held against the OpenAPI document: what does not fit it rejects.
 */
export function api(url: string, defaults: RequestHeaders = {}, agent?: Agent): Api {
  const send: Api['send'] = (method, path, body, headers = {}) => exchange(url, method, path, body, { ...defaults, ...headers }, agent);
  return {
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body, headers) => send('PATCH', path, body, headers),
    delete: (path, body, headers) => send('DELETE', path, body, headers),
  };
}

function exchange(base: string, method: string, path: string, body: unknown, given: RequestHeaders, agent?: Agent): Promise<Reply> {
  const { hostname, port, protocol } = new URL(base);
  const requested = protocol === 'https:' ? httpsRequest : httpRequest;
  const payload = body === undefined ? undefined : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers: Record<string, string> = {};
  const wanted: RequestHeaders = {
    ...(method === 'GET' ? {} : { 'X-SVC-Request': 'test' }),
    ...(payload === undefined ? {} : { 'Content-Type': consumed(method, path), 'Content-Length': String(Buffer.byteLength(payload)) }),
    ...given,
  };
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) headers[name] = value;
  return new Promise((resolve, reject) => {
    const req = requested({ hostname: hostname.replace(/^\[|]$/g, ''), port, method, path, headers, agent: agent ?? false });
    const timer = setTimeout(() => req.destroy(new Error(`${method} ${path}: no answer within ${LIMIT_MS} ms`)), LIMIT_MS);
    const sent = performance.now();
    const failed = (error: Error): void => {
      clearTimeout(timer);
      const after = Math.round(performance.now() - sent);
      reject(
        Object.assign(new Error(`${method} ${path}, ${after} ms after it was sent: ${error.message}`, { cause: error }), {
          code: (error as NodeJS.ErrnoException).code,
        }),
      );
    };
    req.on('error', failed);
    req.on('response', (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', failed);
      res.on('end', () => {
        clearTimeout(timer);
        const text = Buffer.concat(chunks).toString('utf8');
        const found = new Headers();
        for (const [name, value] of Object.entries(res.headersDistinct)) for (const one of value ?? []) found.append(name, one);
        const status = res.statusCode ?? 0;
        try {
          checkAnswer(base, { method, target: path, status, headers: found, text: isStream(found) ? undefined : text });
          resolve({ status, headers: found, body: parse(text), text });
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    req.end(payload);
  });
}

function isStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends a request until it is not told to come again: who waits for others too long is, and that is no refusal. */
export async function insist(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send();
    if (reply.status !== 503) return reply;
  }
}

/** How many of the requests at one process it has failed. */
export async function failures({ get }: Pick<Api, 'get'>): Promise<number> {
  return Number(/^svc_http_failures_total (\d+)$/m.exec((await get('/metrics')).text)![1]);
}
