import { ConnectionError, reason, retryAfter } from './problems.js';
import { orAborted, sleep } from './sleep.js';

export interface TransportOptions {
  /** Replicas of one service, normalised. */
  readonly urls: readonly string[];
  readonly fetch: typeof globalThis.fetch;
  /** How long a request is tried again in all; 0 asks each address once. */
  readonly retryMs: number;
}

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Of these nothing has left this machine. A browser does not tell. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);
/** What another try does not mend. */
const FOR_GOOD = /CERT|SIGNATURE|SSL|TLS/;

/**
 * Sends requests to whichever address answers, and again where that is safe: what was refused as too much (429), and what only reads or
 * carries an idempotency key also when the service is not available (502, 503, 504) or the connection was lost. The key stays the same
 * over all tries, so what was carried out is not carried out twice.
 */
export class Transport {
  /** The address that has answered last. */
  #at = 0;

  constructor(private readonly options: TransportOptions) {}

  get url(): string {
    return this.options.urls[this.#at]!;
  }

  /** Goes on with the next address: the one before has broken a connection. */
  leave(url: string): void {
    if (this.url === url) this.#at = (this.#at + 1) % this.options.urls.length;
  }

  readonly send = async (request: Request): Promise<Response> => {
    const { urls, fetch, retryMs } = this.options;
    const { method, headers, signal } = request;
    const path = request.url.slice(urls[0]!.length);
    const bytes = SAFE.has(method) ? undefined : await request.arrayBuffer();
    const init = { method, headers, signal, redirect: request.redirect, ...(bytes?.byteLength ? { body: bytes } : {}) };
    const repeatable = SAFE.has(method) || headers.has('idempotency-key');
    const until = Date.now() + retryMs;
    let pause = FIRST_PAUSE_MS;
    for (let tried = 1; ; tried++) {
      const url = this.url;
      let wait: number;
      try {
        const response = await fetch(url + path, init);
        // At once, which `Retry-After: 0` says, would be asked by all who wait.
        wait = retryAfter(response) || pause;
        if (!mayBeAskedAgain(response, repeatable) || Date.now() + wait > until) return await whole(response, request.signal);
        await response.body?.cancel().catch(() => undefined);
        if (response.status !== 429) this.leave(url);
      } catch (error) {
        if (request.signal.aborted) throw error;
        const code = codeOf(error);
        const sent = !NOT_SENT.has(code);
        const failure = new ConnectionError(`no answer from ${url}: ${reason(error)}`, sent, { cause: error });
        if ((sent && !repeatable) || FOR_GOOD.test(code)) throw failure;
        this.leave(url);
        // All addresses are asked before anybody waits.
        wait = tried % urls.length === 0 ? pause : 0;
        if (tried >= urls.length && Date.now() + wait >= until) throw failure;
      }
      if (wait > 0) {
        await sleep(wait, signal);
        if (signal.aborted) throw signal.reason;
        pause = Math.min(pause * 2, LAST_PAUSE_MS);
      }
    }
  };
}

/** Whether another try may have another answer. */
function mayBeAskedAgain(response: Response, repeatable: boolean): boolean {
  const { status, headers } = response;
  const asked = retryAfter(response) !== undefined;
  if (status === 429) return asked;
  if (!repeatable) return false;
  // The service says itself when it is final; a proxy in front of replicas, all of which have gone, says nothing of it.
  if (status === 503) return asked || headers.get('content-type')?.startsWith('application/problem+json') !== true;
  return status === 502 || status === 504;
}

/**
 * An answer with all of its body, so that one that is cut off is tried again as any lost connection, and one that stalls ends with the
 * time of its call. Streams stay what they are.
 */
async function whole(response: Response, signal: AbortSignal): Promise<Response> {
  if (response.body === null || isStream(response)) return response;
  return new Response(await orAborted(response.arrayBuffer(), signal), response);
}

const isStream = ({ headers }: Response): boolean => headers.get('content-type')?.startsWith('text/event-stream') === true;

function codeOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown } | null)?.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** A key that nobody else makes. */
export function newKey(): string {
  // `randomUUID` is there in secure contexts alone.
  return Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
