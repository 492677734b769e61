import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

export interface GitServer {
  /** `http://127.0.0.1:<port>`, or https. Below `/smart/` repositories are served as servers do today, below `/dumb/` as files, and
   * `/hang/`, `/drip/`, `/login/`, `/moved/`, `/broken/`, `/flood/` behave as they are called. */
  readonly url: string;
  /** For `SVC_ALLOWED_TARGETS`. */
  readonly target: string;
  /** Every request, as `GET /path`. */
  readonly requests: string[];
  close(): Promise<void>;
}

export interface GitServerOptions {
  /** PEM texts: it speaks HTTPS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Nobody gets anything without; what is `seen` of whoever has signed in, while git waits. */
  readonly login?: { readonly username: string; readonly password: string; readonly seen?: () => Promise<void> };
}

/** Serves the repositories in a directory over HTTP. */
export async function gitServer(directory: string, { tls, login }: GitServerOptions = {}): Promise<GitServer> {
  const requests: string[] = [];
  const answer: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const [, kind, ...rest] = (request.url ?? '').split('/');
    const below = `/${rest.join('/')}`;
    if (kind === 'smart') backend(directory, below, request, response);
    else if (kind === 'dumb') void file(directory, below, response);
    else if (kind === 'drip') drip(response);
    else if (kind === 'flood') flood(response);
    else if (kind === 'login') response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    else if (kind === 'moved') response.writeHead(302, { location: `/smart${below}` }).end();
    else if (kind === 'broken') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    else if (kind !== 'hang') response.writeHead(404).end();
  };
  const guarded: RequestListener = (request, response) => {
    const wanted = `Basic ${Buffer.from(`${login?.username}:${login?.password}`).toString('base64')}`;
    if (login === undefined) answer(request, response);
    else if (request.headers.authorization !== wanted) response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    else void (login.seen?.() ?? Promise.resolve()).then(() => answer(request, response));
  };
  const server = tls === undefined ? createServer(guarded) : createTlsServer(tls, guarded);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    target: `127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function backend(directory: string, below: string, request: IncomingMessage, response: ServerResponse): void {
  const [pathInfo = '', query = ''] = below.split('?');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathInfo,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('close', () => {
    const whole = Buffer.concat(chunks);
    const end = whole.indexOf('\r\n\r\n');
    const headers = Object.fromEntries(
      whole
        .subarray(0, end)
        .toString()
        .split('\r\n')
        .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const { status = '200', ...others } = headers;
    response.writeHead(Number.parseInt(status, 10), others).end(whole.subarray(end + 4));
  });
}

async function file(directory: string, below: string, response: ServerResponse): Promise<void> {
  const at = path.join(directory, below.split('?')[0]!);
  const content = await readFile(at).catch(() => undefined);
  if (content === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-type': 'text/plain' }).end(content);
}

/** Something every now and then, never an end: no limit on silence ends this. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
  const timer = setInterval(() => response.write('#'), 20);
  response.on('close', () => clearInterval(timer));
}

/** References without an end. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  const chunk = Array.from({ length: 1_000 }, (_, n) => `${'a'.repeat(40)}\trefs/tags/v1.${n}\n`).join('');
  const write = (): void => {
    while (response.writable && response.write(chunk));
  };
  response.on('drain', write);
  write();
}
