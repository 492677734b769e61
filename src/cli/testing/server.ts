import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TestServer {
  readonly url: string;
  /** Every request so far: method, address and the headers that matter here. */
  readonly requests: { readonly line: string; readonly headers: IncomingMessage['headers']; readonly body: string }[];
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

/** A server for what the real one only does when the network misbehaves. Routes are matched by path, without the query. */
export async function testServer(routes: Readonly<Record<string, Handler>>): Promise<TestServer> {
  const requests: TestServer['requests'] = [];
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = new URL(request.url!, 'http://x').pathname;
      requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const nth = (counts.get(path) ?? 0) + 1;
      counts.set(path, nth);
      const handler = routes[path];
      if (handler === undefined) problem(response, 404, 'not_found: no such route');
      else handler(request, response, nth);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function json(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function problem(response: ServerResponse, status: number, detail: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
  response.end(JSON.stringify({ type: 'about:blank', title: 'Refused', status, detail, code: detail.split(':')[0], instance: '/' }));
}

export function stream(response: ServerResponse, ...frames: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const frame of frames) response.write(frame);
}

export function frame(id: string, event: string, data: unknown): string {
  return `id: ${id}\nevent: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

export function anEvent(seq: number, values: Record<string, unknown> = {}): Record<string, unknown> {
  return { seq, ts: new Date().toISOString(), type: 'demo.ticked', actor: 'test', subject: '', payload: {}, ...values };
}
