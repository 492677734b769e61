import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './api.gen.js';
import { ApiError, CliError, InterruptedError, reason, UnreachableError } from './errors.js';
import type { Target } from './target.js';
import { distrust } from './trust.js';

/** The typed client of our own document. Mutations pass `header: MUTATION`. */
export interface Api extends Target {
  readonly http: Client<paths>;
  readonly signal: AbortSignal;
}

export type Schemas = components['schemas'];

export const MUTATION = { 'X-SVC-Request': 'svc' } as const;

const RETRY_AFTER = /^\d{1,9}$/;

export function connect(target: Target, signal: AbortSignal): Api {
  const headers = target.key === undefined ? {} : { Authorization: `Bearer ${target.key}` };
  return { ...target, signal, http: createClient<paths>({ baseUrl: target.url, headers }) };
}

interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Waits for an answer and turns every way to fail into a `CliError`. */
export async function ask<T>(
  api: Api,
  call: (signal: AbortSignal) => Promise<Answer<T>>,
  limitMs = 30_000,
): Promise<{ data: T; response: Response }> {
  const limit = AbortSignal.timeout(limitMs);
  return settle(api, call(AbortSignal.any([api.signal, limit])), () =>
    limit.aborted ? new CliError(`no answer from ${api.url} within ${limitMs / 1_000} s`) : undefined,
  );
}

/** Opens a stream; `signal` ends it at any time. Undefined when there is nothing more to come, ever. */
export async function openStream(
  api: Api,
  signal: AbortSignal,
  call: () => Promise<Answer<ReadableStream<Uint8Array> | null>>,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const { data, response } = await settle(api, call(), () => (signal.aborted ? new InterruptedError() : undefined));
  if (response.status === 204) return undefined;
  const type = response.headers.get('content-type') ?? 'nothing';
  if (data === null || !type.startsWith('text/event-stream')) throw new CliError(`${api.url} answered ${type} instead of an event stream`);
  return data;
}

async function settle<T>(api: Api, call: Promise<Answer<T>>, known: () => CliError | undefined): Promise<{ data: T; response: Response }> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    if (api.signal.aborted) throw new InterruptedError();
    throw known() ?? failed(api, error);
  }
  if (!answer.response.ok) throw refused(answer.response, answer.error);
  return { data: answer.data as T, response: answer.response };
}

function failed(api: Api, error: unknown): CliError {
  if (error instanceof SyntaxError) return new CliError(`what answers at ${api.url} is not a supervisor: ${error.message}`);
  const why = distrust(api, error);
  if (why !== undefined) return new CliError(why);
  return new UnreachableError(
    `cannot reach the supervisor at ${api.url}, ${api.source} (${reason(error)}): is it running? start it with \`npm start\` or pass --api`,
    1,
    { cause: error },
  );
}

function refused(response: Response, body: unknown): ApiError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['ErrorModel']>;
  const said = problem.detail ?? problem.title ?? `API returned HTTP ${response.status}`;
  const fields = fieldsBeside(said, problem.errors ?? [], response.status === 409).slice(0, 5);
  const detail = fields.length === 0 ? said : `${said} (${fields.join('; ')})`;
  const message =
    response.status === 401 ? `unauthorized (401): ${said.replace(/^unauthorized:\s*/, '')}; pass --key-file or set SVC_API_KEY` : detail;
  const after = response.headers.get('retry-after') ?? '';
  return new ApiError(message, response.status, problem.code, RETRY_AFTER.test(after) ? Number(after) * 1_000 : undefined);
}

/** Where a problem carries advice, which is about no member. */
const ADVICE = 'body.hint';

/** The fields of a problem that its detail does not tell already; those of a conflict are facts with a value, or several. */
function fieldsBeside(said: string, errors: NonNullable<Schemas['ErrorModel']['errors']>, facts: boolean): string[] {
  return errors.flatMap(({ location, message = '', value }) => {
    if (facts && typeof value === 'string') {
      if (message.includes(value)) return said.includes(message) ? [] : [message];
      return said.includes(value) ? [] : [[message, value].filter(Boolean).join(': ')];
    }
    if (facts && Array.isArray(value) && value.every((one) => typeof one === 'string' && said.includes(one))) return [];
    return message === '' || said.includes(message) ? [] : [location === ADVICE ? message : [location, message].filter(Boolean).join(': ')];
  });
}
