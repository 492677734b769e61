import { serviceClock } from '../lib/service-clock.js';
import { answerOf } from './answer.js';
import { keyNow } from './key.js';
import { limitOf, whyNone } from './limit.js';

export { newKey } from '../lib/wishes.js';

/** What the service refuses, or that it does not answer (status 0). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string | undefined,
    readonly errors: readonly { readonly message?: string; readonly location?: string }[] = [],
  ) {
    super(detail);
  }
}

/** With a key that is refused nothing is tried again: with another one everything begins anew. */
export const isBarred = (error: unknown): boolean => error instanceof Refusal && [401, 403].includes(error.status);

/** This key may not, for as long as it is this one. One that is not good any more may be replaced while a view stays. */
export const isForbidden = (error: unknown): boolean => error instanceof Refusal && error.status === 403;

export interface Call {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** A file, as it is, in the place of a body. */
  readonly file?: string;
  readonly ifMatch?: number | undefined;
  /** One a wish, kept when it is tried again. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

type Unauthorized = () => void;
let unauthorized: Unauthorized = () => undefined;
export const onUnauthorized = (tell: Unauthorized): void => void (unauthorized = tell);

export const get = <T>(path: string, call: Call = {}): Promise<T> => request<T>('GET', path, call);
export const post = <T>(path: string, body?: unknown, call: Call = {}): Promise<T> => request<T>('POST', path, { ...call, body });

/** What is read together with its revision, which a change of it names. @throws Refusal */
export async function getStamped<T>(path: string, call: Call = {}): Promise<{ readonly body: T; readonly revision: number | undefined }> {
  const { answer, headers } = await send('GET', path, call);
  const tag = /^(?:W\/)?"(\d+)"$/.exec(headers.get('etag') ?? '')?.[1];
  return { body: answer as T, revision: tag === undefined ? undefined : Number(tag) };
}

/** What is read together with the position of its city's log that it is as of. @throws Refusal */
export async function getIndexed<T>(path: string, call: Call = {}): Promise<{ readonly body: T; readonly index: number | undefined }> {
  const { answer, headers } = await send('GET', path, call);
  const index = headers.get('x-svc-index');
  return { body: answer as T, index: index === null ? undefined : Number(index) };
}

/** @throws Refusal */
export const request = async <T>(method: string, path: string, call: Call): Promise<T> => (await send(method, path, call)).answer as T;

interface Answer {
  readonly answer: unknown;
  readonly headers: Headers;
}

async function send(method: string, path: string, { query = {}, body, file, ifMatch, idempotencyKey, signal }: Call): Promise<Answer> {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') given.set(name, String(value));
  const key = keyNow();
  const headers: Record<string, string> = {
    accept: 'application/json',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(method === 'GET' ? {} : { 'x-svc-request': 'ui' }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(file === undefined ? {} : { 'content-type': 'application/octet-stream' }),
    ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  };
  const limit = limitOf(method, signal);
  const askedAt = Date.now();
  const response = await fetch(given.size === 0 ? path : `${path}?${given}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(file === undefined ? {} : { body: new TextEncoder().encode(file) }),
    ...(limit.signal === undefined ? {} : { signal: limit.signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new Refusal(0, 'unreachable', whyNone(limit, false), undefined);
  });
  serviceClock.heard(response.headers.get('date'), askedAt);
  const answer = await answerOf(response).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new Refusal(0, 'unreachable', whyNone(limit, true), undefined);
  });
  if (response.ok) return { answer, headers: response.headers };
  // What was asked with the key before tells nothing of the one that is used by now.
  if (response.status === 401 && key === keyNow()) unauthorized();
  const { code, detail, errors } = (answer ?? {}) as { code?: string; detail?: string; errors?: Refusal['errors'] };
  throw new Refusal(
    response.status,
    code ?? 'unknown',
    detail ?? `the service answers ${response.status}`,
    response.headers.get('x-svc-request-id') ?? undefined,
    errors ?? [],
  );
}

export const inCity = (city: string, path = ''): string => `/v0/city/${encodeURIComponent(city)}${path === '' ? '' : `/${path}`}`;
export const part = encodeURIComponent;
