import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { firstReached, NotConnected } from '../../../../platform/outgoing/first-reached.js';
import { OutgoingGuard, OutgoingRefused } from '../../../../platform/outgoing/outgoing-guard.js';
import { hostOf, portOf } from '../adapters/callback-address.js';
import { ExtmsgTimings } from '../extmsg-timings.js';

/** What an adapter has answered, or what came instead. */
export type Called =
  | { readonly status: number; readonly body: string; readonly retryAfter: string | undefined }
  | { readonly status: 0; readonly why: string; readonly refused: boolean };

/** Bytes of an answer, of which no more is read. */
const ANSWER_BYTES = 1024 * 1024;
const HEADER_BYTES = 16 * 1024;

/**
 * Calls adapters: at addresses that have just been looked at and at no other, the next where the one before cannot be reached, one connection a
 * call, without redirects, proxies or anything that is remembered. The body is signed together with the time.
 */
@Injectable()
export class Callback {
  constructor(
    private readonly guard: OutgoingGuard,
    private readonly timings: ExtmsgTimings,
  ) {}

  /** Never throws for what the other side does. `signal` ends the call. */
  async post(city: string, address: string, body: string, secret: string, signal: AbortSignal): Promise<Called> {
    const { callMs } = this.timings;
    const limit = AbortSignal.timeout(callMs);
    const ended = AbortSignal.any([signal, limit]);
    try {
      const url = new URL(address);
      const addresses = await this.guard.resolve(hostOf(url), portOf(url), city);
      const headers = signed(body, secret);
      return await firstReached(addresses, callMs, (to, connectMs) => send(url, to, { body, headers, signal: ended, connectMs }));
    } catch (error) {
      const refused = error instanceof OutgoingRefused && error.reason === 'forbidden';
      const why = limit.aborted ? `no answer within ${callMs} ms` : error instanceof Error ? error.message : String(error);
      return { status: 0, why, refused };
    }
  }
}

/** How a receiver knows that it is us: HMAC-SHA-256 of the time, a point and the body. */
export function signed(body: string, secret: string, now = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'x-svc-timestamp': timestamp, 'x-svc-signature': `sha256=${signature}` };
}

interface Sending {
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly signal: AbortSignal;
  readonly connectMs: number;
}

function send(url: URL, address: string, { body, headers, signal, connectMs }: Sending): Promise<Called> {
  const name = hostOf(url);
  const make = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const call = make({
      host: address,
      port: portOf(url),
      path: url.pathname,
      method: 'POST',
      agent: false,
      maxHeaderSize: HEADER_BYTES,
      ...(isIP(name) === 0 ? { servername: name } : {}),
      headers: {
        host: url.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        connection: 'close',
        'x-svc-request': 'true',
        ...headers,
      },
    });
    let answers = false;
    let connected = false;
    const late = setTimeout(() => call.destroy(new Error(`no connection within ${Math.round(connectMs)} ms`)), connectMs);
    call.once('socket', (socket) =>
      socket.once('connect', () => {
        connected = true;
        clearTimeout(late);
      }),
    );
    const abort = (): void => void call.destroy(new Error('the call was ended'));
    signal.addEventListener('abort', abort, { once: true });
    call.once('close', () => {
      clearTimeout(late);
      signal.removeEventListener('abort', abort);
      // Node says nothing else where the answer is another protocol (101): whoever waits, and renews a lease, would do so for ever.
      if (!answers) reject(new Error('its connection has ended without an answer'));
    });
    call.once('error', (cause) => reject(connected || signal.aborted ? cause : new NotConnected(cause.message, { cause })));
    call.once('response', (response) => {
      answers = true;
      read(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, body: text, retryAfter: response.headers['retry-after'] }),
        reject,
      );
    });
    call.end(body);
  });
}

/** Up to the limit; what goes on beyond it is let go. */
async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) {
      response.destroy();
      throw new Error(`its answer is longer than ${ANSWER_BYTES} bytes`);
    }
  }
  return Buffer.concat(chunks).toString('utf8');
}
