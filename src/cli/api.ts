import type { Schemas } from '../client/calls.js';
import { Client, type ConnectOptions } from '../client/client.js';
import { Limit } from '../client/limit.js';
import { AGAIN, ApiProblem, ConnectionError, IN_FLIGHT, NoName, problemOf, ProtocolError, reason } from '../client/problems.js';
import { ApiError, CliError, InterruptedError, TimedOutError, UnreachableError } from './errors.js';
import { EXIT } from './exit-codes.js';
import type { Target } from './target.js';
import { distrust } from './trust.js';

/** The typed client of our own document. */
export interface Api extends Target {
  readonly http: Client['http'];
  /** The library that all of this is built on: streams, pages, requests to wait for. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

export type { Schemas };

export function connect(target: Target, signal: AbortSignal, asking: () => void = () => undefined): Api {
  const fetch: typeof globalThis.fetch = (input, init) => {
    asking();
    return globalThis.fetch(input, init);
  };
  // What a person has typed is answered at once, also when nobody is there; scripts say themselves how often they try.
  const client = clientOf(target, { retryMs: 0, fetch });
  return { ...target, signal, client, http: client.http };
}

/** The same for somebody who stays: what a moment without the service has kept from it is sent again, under the same key. */
export function patient(api: Api): Api {
  const client = clientOf(api, {});
  return { ...api, client, http: client.http };
}

function clientOf({ url, replicas = [], key }: Target, more: Pick<ConnectOptions, 'retryMs' | 'fetch'>): Client {
  return new Client({ url: [url, ...replicas], key, name: 'svc', ...more });
}

interface Reply<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Waits for an answer, `limitMs` at most, and turns every way to fail into a `CliError`. The signal tells the library of that limit. */
export async function ask<T>(
  api: Api,
  call: (signal: AbortSignal) => Promise<Reply<T>>,
  limitMs = 30_000,
): Promise<{ data: T; response: Response }> {
  const limit = new Limit(limitMs, api.signal);
  let reply: Reply<T>;
  try {
    reply = await call(limit.signal);
  } catch (error) {
    const { over, asked, wrote } = limit;
    if (!over) throw told(api, error, limit);
    const late = new TimedOutError(`no answer from ${asked ?? api.url} within ${limitMs / 1_000} s`);
    throw wrote === undefined ? late : unknown(late, wrote.key);
  }
  if (!reply.response.ok) throw refusal(problemOf(reply.response, reply.error, limit.wrote));
  return { data: reply.data as T, response: reply.response };
}

/** What the library throws, as the user is told it: `.catch(failing(api))`. */
export const failing =
  (api: Api) =>
  (error: unknown): never => {
    throw told(api, error);
  };

/** What the library streams, its failures as the user is told them. */
export async function* telling<T>(api: Api, stream: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield* stream;
  } catch (error) {
    throw told(api, error);
  }
}

/** Adds, of what may change something, that it may have: whoever repeats it without a word of that has two. */
function unknown<T extends CliError>(error: T, key: string | undefined): T {
  error.message += ': it may have been done';
  error.sentKey = key;
  return error;
}

function refusal(problem: ApiProblem): ApiError {
  const error = refused(problem);
  if (!problem.mayHaveHappened) return error;
  error.isOpen = true;
  if (error.message.includes(AGAIN)) {
    // It says so itself, and with which key is told in words of this client.
    error.message = error.message.replace(`; ${AGAIN}`, '');
    error.sentKey = problem.idempotencyKey;
    return error;
  }
  // What the service says of one try, such as that nothing was changed, says nothing of one before it.
  if (problem.code !== undefined && problem.code !== IN_FLIGHT) error.message += '; a try before it had no answer';
  return unknown(error, problem.idempotencyKey);
}

/** A failure of the library as a `CliError`; others stay what they are. @param limit of the call, if it was one */
export function told(api: Api, error: unknown, limit?: Limit): unknown {
  if (api.signal.aborted) return new InterruptedError();
  if (error instanceof NoName) return unnamed(error);
  if (error instanceof ApiProblem) return refusal(error);
  if (error instanceof SyntaxError) return new CliError(`what answers at ${api.url} is not a supervisor: ${error.message}`);
  if (error instanceof ProtocolError) return new CliError(error.message);
  if (!(error instanceof ConnectionError)) return error;
  const { cause } = error;
  const why = distrust(error.address ?? api.url, cause);
  if (why !== undefined) {
    // Another address may have taken it before.
    const key = limit?.wrote?.key ?? error.idempotencyKey;
    if (!error.mayHaveHappened || key === undefined) return new CliError(why);
    return unknown(new UnreachableError(why, undefined, { cause: error }), key);
  }
  // Without a limit the error alone knows what was sent: reads have no key.
  if (limit === undefined && error.mayHaveHappened && error.idempotencyKey !== undefined)
    return unknown(new UnreachableError(error.message, undefined, { cause: error }), error.idempotencyKey);
  // The library says itself what it has waited for.
  if (cause === undefined || (cause as { name?: unknown }).name === 'TimeoutError')
    return new UnreachableError(error.message, undefined, { cause: error });
  if (limit?.wrote !== undefined && error.mayHaveHappened) {
    const broke = `the connection to ${limit.asked ?? api.url} broke before the answer (${reason(cause)})`;
    return unknown(new UnreachableError(broke, undefined, { cause: error }), limit.wrote.key);
  }
  return new UnreachableError(
    `cannot reach the supervisor at ${api.url}, ${api.source} (${reason(cause)}): is it running? start it with \`svc serve\` or pass --api`,
    undefined,
    { cause: error },
  );
}

/** Commands look at names that they are about; ids come here as they were typed. */
function unnamed({ part, value }: NoName): CliError {
  const what = part === 'cityName' ? 'the name of a city' : /id$/i.test(part) ? 'an id' : 'a name';
  return new CliError(`not ${what}: ${value === '' ? 'it is empty' : value}`, EXIT.usage);
}

function refused(problem: ApiProblem): ApiError {
  const { status, detail } = problem;
  const message =
    status === 401 ? `unauthorized (401): ${detail.replace(/^unauthorized:\s*/, '')}; pass --key-file or set SVC_API_KEY` : problem.message;
  return new ApiError(message, status, problem.code, problem.retryAfterMs, { cause: problem });
}
