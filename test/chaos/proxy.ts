import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  application: string;
  /** Nothing goes through any more, in either direction, and nobody is told. */
  black: boolean;
}

/**
 * A TCP proxy in front of PostgreSQL, one for each process of the product. It can stop forwarding the connections of
 * one application without closing them: a half-open connection, as a lost network makes it.
 */
export class Proxy {
  readonly #pairs = new Set<Pair>();
  readonly #server: Server;

  private constructor(private readonly target: () => number) {
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(target: () => number): Promise<Proxy> {
    const proxy = new Proxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Lets the open connections of an application fall silent. Returns how many. */
  blackhole(application: string): number {
    const chosen = [...this.#pairs].filter((p) => p.application === application && !p.black);
    for (const pair of chosen) pair.black = true;
    return chosen.length;
  }

  /** Ends the connections that have fallen silent. */
  heal(): void {
    for (const pair of [...this.#pairs]) if (pair.black) this.#drop(pair);
  }

  async stop(): Promise<void> {
    for (const pair of [...this.#pairs]) this.#drop(pair);
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    const server = connect({ host: '127.0.0.1', port: this.target() });
    const pair: Pair = { client, server, application: '', black: false };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
    }
    this.#forward(pair, client, server, (data) => (pair.application ||= applicationName(data)));
    this.#forward(pair, server, client);
  }

  #forward(pair: Pair, from: Socket, to: Socket, look?: (data: Buffer) => void): void {
    from.on('data', (data: Buffer) => {
      look?.(data);
      if (!pair.black && !to.write(data)) from.pause();
    });
    to.on('drain', () => from.resume());
    from.on('close', () => {
      // What a silent connection's far end does is not seen here, except by the client itself.
      if (pair.black && from === pair.server) return;
      this.#drop(pair);
    });
  }

  #drop(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}

/** From the startup packet: a length, the protocol version, then names and values that end in NUL. */
function applicationName(data: Buffer): string {
  const fields = data.subarray(8).toString('latin1').split('\0');
  const at = fields.indexOf('application_name');
  return at < 0 ? '' : (fields[at + 1] ?? '');
}
