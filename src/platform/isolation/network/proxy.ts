import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { handedOn, isAnswer } from '../../outgoing/next-hop.js';
import { firstReached, NotConnected } from '../../outgoing/first-reached.js';
import { OutgoingRefused, type OutgoingGuard } from '../../outgoing/outgoing-guard.js';
import { allowsHost, type HostRule } from './rules.js';

/**
 * The only way out of a sandbox without a network of its own: an HTTP proxy (CONNECT, and absolute addresses for plain HTTP)
 * on a unix socket that is one session's. It looks names up itself, once, and calls what it has looked at.
 *
 * `@anthropic-ai/sandbox-runtime` does the same for one process: its manager is global to a process, its lists are of that
 * process, and it builds the whole command line of bubblewrap. Here many sessions of many cities stand beside each other,
 * each with its rules, limits and log, and mounts that follow from the city; private addresses are refused as everywhere else.
 */
const MAX_CONNECTIONS = 64;
const IDLE_MS = 5 * 60_000;
const CONNECT_MS = 15_000;
/** Both ways together, of one session's life here. */
const MAX_BYTES = 64 * 1024 ** 3;
const MAX_HEADERS = 32 * 1024;

export interface ProxyRules {
  readonly rules: readonly HostRule[];
  /** Our API, which is always reached, wherever it is. */
  readonly api: URL | undefined;
}

/** @param refused is told of every call that is not made */
export function createProxy(
  city: string,
  wanted: () => ProxyRules,
  guard: OutgoingGuard,
  refused: (host: string, why: string) => void,
): Server {
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
  };

  /** A connection to where a call leads, or the answer to it. */
  const call = async (host: string, port: number): Promise<Socket | { status: number; why: string }> => {
    const refuse = (status: number, why: string): { status: number; why: string } => {
      refused(`${host}:${port}`, why);
      return { status, why: `${host}:${port}: ${why}` };
    };
    if (bytes > MAX_BYTES) return refuse(403, `this session has sent and received more than ${MAX_BYTES} bytes`);
    const { rules, api } = wanted();
    const ours = api !== undefined && host === bare(api.hostname) && port === portOf(api);
    if (!ours && !allowsHost(rules, host)) return refuse(403, 'the network setting of this city or provider does not name it');
    try {
      const addresses: [string, ...string[]] = ours ? [host] : await guard.resolve(host, port, city);
      return await firstReached(addresses, CONNECT_MS, (address, ms) => connected(address, port, ms));
    } catch (error) {
      if (error instanceof OutgoingRefused) return refuse(error.reason === 'forbidden' ? 403 : 502, error.message);
      return { status: 502, why: `${host}:${port} cannot be reached` };
    }
  };

  const server = createServer({ maxHeaderSize: MAX_HEADERS, requireHostHeader: false }, (request, response) => {
    // What an agent says, and what it is answered, ends its own call and nothing else.
    forward(request, response, call, count).catch(() => response.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy());
    const target = URL.parse(`http://${request.url ?? ''}`);
    const port = Number(/:(\d{1,5})$/.exec(request.url ?? '')?.[1] ?? NaN);
    if (target === null || !(port > 0 && port < 65_536)) return void client.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    void call(bare(target.hostname), port).then((found) => {
      if ('why' in found) return void client.end(answer(found.status, found.why));
      if (client.destroyed) return void found.destroy();
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      found.write(head);
      join(client as Socket, found, count);
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  call: (host: string, port: number) => Promise<Socket | { status: number; why: string }>,
  count: (chunk: Buffer) => void,
): Promise<void> {
  const url = URL.parse(request.url ?? '');
  const found = url?.protocol === 'http:' ? await call(bare(url.hostname), portOf(url)) : { status: 400, why: 'this is a proxy' };
  const refuse = (status: number, why: string): void =>
    void response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${why}\n`);
  if ('why' in found) return refuse(found.status, found.why);
  if (response.destroyed) return void found.destroy();
  const onward = httpRequest({
    createConnection: () => found,
    method: request.method,
    path: `${url!.pathname}${url!.search}`,
    headers: { ...handedOn(request.headers), host: url!.host, connection: 'close' },
  });
  found.on('data', count);
  found.setTimeout(IDLE_MS, () => found.destroy());
  onward.on('response', (reply) => {
    const { statusCode } = reply;
    if (!isAnswer(statusCode)) {
      refuse(502, `${url!.host}: the status ${statusCode} of what it says is none of an answer`);
      return void onward.destroy();
    }
    try {
      // Node says anew where the body ends, as it can be said to whoever asks.
      const { 'transfer-encoding': _coding, ...headers } = handedOn(reply.headers);
      response.writeHead(statusCode, headers);
    } catch {
      return void response.destroy();
    }
    reply.pipe(response);
    reply.on('close', () => {
      if (!reply.complete) response.destroy();
    });
  });
  onward.on('error', () => response.destroy());
  // Also where it has ended without an answer, and without an error: it has begun with another protocol.
  onward.on('close', () => {
    if (!response.headersSent) response.destroy();
  });
  response.on('close', () => onward.destroy());
  request.on('data', count).pipe(onward);
}

function join(a: Socket, b: Socket, count: (chunk: Buffer) => void): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('data', count);
    from.setTimeout(IDLE_MS, () => from.destroy());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}

function connected(host: string, port: number, timeout: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout });
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
    socket.once('error', (cause) => reject(new NotConnected(cause.message, { cause })));
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

const answer = (status: number, why: string): string =>
  `HTTP/1.1 ${status} ${status === 403 ? 'Forbidden' : 'Bad Gateway'}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${why}\n`;

const bare = (host: string): string => (isIP(host.replace(/^\[|]$/g, '')) === 0 ? host.toLowerCase() : host.replace(/^\[|]$/g, ''));
const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));
