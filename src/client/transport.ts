import { timedOut, type Limit, type Wrote } from './limit.js';
import { ConnectionError, isOfProxy, leavesOpen, reason, retryAfter } from './problems.js';
import { LONGEST_MS, orAborted, sleep } from './sleep.js';

export interface TransportOptions {
  /** Replicas of one service, normalised. */
  readonly urls: readonly string[];
  readonly fetch: typeof globalThis.fetch;
  /** How long a request is tried again in all; 0 asks each address once. */
  readonly retryMs: number;
}

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;
/** How long a replica that is not available has to say what it knows of a change: one that stalls holds up no other. */
const SAID_MS = 2_000;
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Of these nothing has left this machine. A browser does not tell. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);
/** Where it was only on its way there, whatever the code: one for several addresses of a name is that of the first. */
const ON_THE_WAY = new Set(['connect', 'getaddrinfo']);
/** Told before anything is sent: there is no connection with somebody who is not trusted, or who does not speak TLS. */
const NO_HANDSHAKE =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|CERT_(HAS_EXPIRED|NOT_YET_VALID)|ERR_TLS_CERT_ALTNAME_INVALID|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/;
/** What another try does not mend. */
const FOR_GOOD = /CERT|SIGNATURE|SSL|TLS/;

/**
 * Sends requests to whichever address answers, and again where that is safe: what was refused as too much (429), and what only reads or
 * carries an idempotency key also when the service is not available (502, 503, 504) or the connection was lost. The key stays the same
 * over all tries, so what was carried out is not carried out twice. An address that says nothing to a read has its share of the time, then
 * the next one is asked: the system behind a process that stands still goes on to accept connections. A write has all of the time at one
 * address: under the same key another one only says that its work goes on.
 */
export class Transport {
  /** The address that is asked next. */
  #at = 0;

  constructor(private readonly options: TransportOptions) {}

  get url(): string {
    return this.options.urls[this.#at]!;
  }

  /** Goes on with the next address: the one before has broken a connection, or says nothing. */
  private leave(url: string): void {
    if (this.url === url) this.#at = (this.#at + 1) % this.options.urls.length;
  }

  /** Without a limit no address has a share: nobody knows of what. @throws ConnectionError; the reason of the request's signal */
  async send(request: Request, limit?: Limit): Promise<Response> {
    const { urls, fetch, retryMs } = this.options;
    const { method, headers } = request;
    const path = request.url.slice(urls[0]!.length);
    const safe = SAFE.has(method);
    const bytes = safe ? undefined : await request.arrayBuffer();
    const init = { method, headers, redirect: request.redirect, ...(bytes?.byteLength ? { body: bytes } : {}) };
    const repeatable = safe || headers.has('idempotency-key');
    // By any try: where the last one was not sent, or was refused, one before it may have been carried out.
    const sending: Wrote = { key: headers.get('idempotency-key') ?? undefined, mayHaveHappened: false };
    if (limit !== undefined && !safe) limit.wrote = sending;
    // What waits for a change is silent on purpose.
    const share = limit !== undefined && safe && !new URL(request.url).searchParams.has('wait') ? limit.ms / urls.length : undefined;
    const until = Date.now() + retryMs;
    let pause = FIRST_PAUSE_MS;
    for (let tried = 1; ; tried++) {
      const { url } = this;
      if (limit !== undefined) limit.asked = url;
      let wait: number;
      // The last address has all the time that is left.
      const patience = patienceOf(tried < urls.length ? share : undefined, request.signal);
      try {
        const response = await fetch(url + path, { ...init, signal: patience.signal });
        // It has answered: what it sends may take longer than its share.
        patience.end();
        // All addresses are asked before anybody waits, as below; one whose database is gone says nothing of the others. A write that was
        // handed on may go on there, of which another one would only say so.
        const elsewhere = tried < urls.length && (response.status === 503 || (safe && response.status !== 429));
        // At once, which `Retry-After: 0` says, would be asked by all who wait.
        wait = elsewhere ? 0 : retryAfter(response) || pause;
        const isLast = !mayBeAskedAgain(response, repeatable) || (!elsewhere && Date.now() + wait > until);
        if (isLast) return await this.#whole(response, url, request.signal);
        if (!safe && (await isOpen(response, request.signal))) sending.mayHaveHappened = true;
        await response.body?.cancel().catch(() => undefined);
        if (response.status !== 429) this.leave(url);
      } catch (error) {
        if (request.signal.aborted) {
          if (timedOut(request.signal)) this.leave(url);
          throw error;
        }
        const code = codeOf(error);
        const sent = !isUnsent(error) && !NO_HANDSHAKE.test(code);
        sending.mayHaveHappened ||= sent;
        const told = { cause: error, idempotencyKey: sending.key, address: url };
        const failure = new ConnectionError(`no answer from ${url}: ${reason(error)}`, sending.mayHaveHappened, told);
        if ((sent && !repeatable) || FOR_GOOD.test(code)) throw failure;
        this.leave(url);
        // All addresses are asked before anybody waits.
        wait = tried % urls.length === 0 ? pause : 0;
        if (tried >= urls.length && Date.now() + wait >= until) throw failure;
      } finally {
        patience.end();
      }
      if (wait > 0) {
        await sleep(wait, request.signal);
        if (request.signal.aborted) throw request.signal.reason;
        pause = Math.min(pause * 2, LAST_PAUSE_MS);
      }
    }
  }

  /**
   * An answer with all of its body, so that one that is cut off is tried again as any lost connection, and one that stalls ends with the
   * time of its call. Streams stay what they are.
   */
  async #whole(response: Response, url: string, signal: AbortSignal): Promise<Response> {
    const { body } = response;
    if (body === null) return response;
    if (!isStream(response)) return new Response(await orAborted(response.arrayBuffer(), signal), response);
    return this.options.urls.length === 1 ? response : new Response(this.#leaving(body, url), response);
  }

  /** The same stream, whose address is left when whoever reads gives it up for its silence. */
  #leaving(body: ReadableStream<Uint8Array>, url: string): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (out) => {
          const { done, value } = await reader.read();
          if (done) out.close();
          else out.enqueue(value);
        },
        cancel: (why) => {
          if (why instanceof ConnectionError) this.leave(url);
          return reader.cancel(why);
        },
      },
      { highWaterMark: 0 },
    );
  }
}

/** The signal of a request, which also aborts after its share of the time, unless it has ended before. */
function patienceOf(ms: number | undefined, signal: AbortSignal): { readonly signal: AbortSignal; end(): void } {
  if (ms === undefined) return { signal, end: () => undefined };
  const silent = new AbortController();
  const why = new Error(`nothing arrived for ${ms / 1_000} s`);
  const timer = setTimeout(() => silent.abort(why), Math.min(ms, LONGEST_MS));
  return { signal: AbortSignal.any([signal, silent.signal]), end: () => clearTimeout(timer) };
}

/** Whether another try may have another answer. */
function mayBeAskedAgain(response: Response, repeatable: boolean): boolean {
  const { status } = response;
  const asked = retryAfter(response) !== undefined;
  if (status === 429) return asked;
  if (!repeatable) return false;
  // The service says itself when it is final; a proxy in front of replicas, all of which have gone, says nothing of it.
  return status === 502 || status === 504 || isOfProxy(response) || (status === 503 && asked);
}

/** Whether what a refused try was to change may be changed all the same. */
async function isOpen(response: Response, signal: AbortSignal): Promise<boolean> {
  if (response.status !== 503 || isOfProxy(response)) return isOfProxy(response);
  return leavesOpen(response, await orAborted(response.text(), AbortSignal.any([signal, AbortSignal.timeout(SAID_MS)])));
}

const isStream = ({ headers }: Response): boolean => headers.get('content-type')?.startsWith('text/event-stream') === true;

function codeOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown } | null)?.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Whether nothing has left this machine: none of the addresses of the name was reached. */
function isUnsent(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: { errors?: unknown } };
  const failures = (Array.isArray(cause?.errors) && cause.errors.length > 0 ? cause.errors : [cause ?? {}]) as Partial<Failure>[];
  return failures.every(({ code, syscall }) => NOT_SENT.has(code ?? '') || ON_THE_WAY.has(syscall ?? ''));
}

interface Failure {
  readonly code: string;
  readonly syscall: string;
}

/** A key that nobody else makes. */
export function newKey(): string {
  // `randomUUID` is there in secure contexts alone.
  return Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
