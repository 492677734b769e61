import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { eventually } from './sse.js';

/** A span as it comes over the wire, with the resource that it is of. */
export interface HeardSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** An OTLP receiver that remembers what it hears, as JSON over HTTP. */
export class Collector {
  readonly spans: HeardSpan[] = [];
  readonly metrics: { readonly name: string; readonly points: any[]; readonly kind: string }[] = [];
  readonly logs: { readonly body: string; readonly traceId?: string; readonly resource: Readonly<Record<string, unknown>> }[] = [];
  /** All that has come, as it came. */
  text = '';
  headers: Readonly<Record<string, unknown>> = {};
  /** What it answers. */
  status = 200;

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        collector.headers = request.headers;
        collector.text += body;
        collector.#take(request.url!, JSON.parse(body));
        response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Once something fits. @throws with the names of what has come. */
  async until<T>(find: () => T | undefined | false): Promise<T> {
    return eventually(() => Promise.resolve(find())).catch(() => {
      throw new Error(`came: ${this.spans.map(({ name, traceId }) => `${name} ${traceId}`).join('\n')}`);
    }) as Promise<T>;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  #take(path: string, body: any): void {
    for (const { resource, scopeSpans = [] } of body.resourceSpans ?? [])
      for (const { spans } of scopeSpans)
        for (const span of spans) this.spans.push({ ...span, attributes: flat(span.attributes), resource: flat(resource.attributes) });
    for (const { scopeMetrics = [] } of body.resourceMetrics ?? [])
      for (const { metrics } of scopeMetrics)
        for (const { name, ...rest } of metrics) {
          const kind = ['sum', 'gauge', 'histogram'].find((one) => one in rest)!;
          this.metrics.push({ name, kind, points: rest[kind].dataPoints });
        }
    for (const { resource, scopeLogs = [] } of body.resourceLogs ?? [])
      for (const { logRecords } of scopeLogs)
        for (const { body: said, traceId } of logRecords)
          this.logs.push({ body: said.stringValue, traceId, resource: flat(resource.attributes) });
    if (!/^\/v1\/(traces|metrics|logs)$/.test(path)) throw new Error(`unexpected ${path}`);
  }
}

function flat(attributes: { key: string; value: Record<string, unknown> }[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
