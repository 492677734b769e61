import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What stands before the service for figures that a service on the same two cores could not send: everything is handed on, but the stream of
 * one city, which is made here, at any rate. Its frames are those of the service: an event with the whole bead, its revision one higher.
 */
export class Front {
  readonly #open = new Set<ServerResponse>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #seq = 0;
  /** Events that were sent so far. */
  sent = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
    private readonly stream: string,
    private readonly beads: Record<string, any>[],
  ) {
    server.on('request', (incoming, response) => this.#answer(incoming, response));
  }

  static async open(target: number, city: string, beads: Record<string, any>[]): Promise<Front> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Front(server, target, `/v0/city/${city}/events/stream`, beads);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** So many events a second from now on, to whoever listens; 0 for none. */
  rate(perSecond: number): void {
    clearInterval(this.#timer);
    if (perSecond === 0) return;
    let due = 0;
    let before = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      due += ((now - before) / 1000) * perSecond;
      before = now;
      const count = Math.floor(due);
      due -= count;
      if (count === 0) return;
      const text = Array.from({ length: count }, () => this.#frame()).join('');
      for (const one of this.#open) one.write(text);
      this.sent += count;
    }, 5);
  }

  async close(): Promise<void> {
    this.rate(0);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #frame(): string {
    const bead = this.beads[Math.floor(Math.random() * Math.min(this.beads.length, 2_000))]!;
    bead.revision = (bead.revision as number) + 1;
    bead.title = `Changed at ${Date.now()}`;
    const seq = ++this.#seq;
    const event = { seq, ts: new Date().toISOString(), type: 'bead.updated', actor: 'bench', subject: bead.id, payload: { bead } };
    return `event: event\nid: ${seq}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    if (incoming.url?.startsWith(this.stream) === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write('event: heartbeat\nid: 0\ndata: {}\n\n');
      this.#open.add(response);
      response.on('close', () => this.#open.delete(response));
      return;
    }
    const up = request(
      { host: '127.0.0.1', port: this.target, method: incoming.method, path: incoming.url, headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    up.on('error', () => response.destroy());
    response.on('close', () => up.destroy());
    incoming.pipe(up);
  }
}
