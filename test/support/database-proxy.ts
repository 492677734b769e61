import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

/** A way to the database that a test can take away from one process and give back. */
export class DatabaseProxy {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #frozen = false;

  private constructor(private readonly target: URL) {}

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(databaseUrl));
    await proxy.up();
    return proxy;
  }

  /** The database's address through this proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.#port);
    return url.href;
  }

  async up(): Promise<void> {
    this.#server = createServer((client) => this.#accept(client)).listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Cuts every connection and refuses new ones. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** From now on connections that are open pass nothing on, and nobody is told; new ones the same, or as ever. */
  freeze(alsoNew: boolean): void {
    this.#frozen = alsoNew;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  thaw(): void {
    this.#frozen = false;
  }

  #accept(client: Socket): void {
    if (this.#frozen) {
      this.#sockets.add(client);
      client.on('error', () => undefined).on('close', () => this.#sockets.delete(client));
      return;
    }
    const server = connect({ host: this.target.hostname, port: Number(this.target.port || 5432) });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
