import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The network between a browser and a service, as bad as it may be: cut, silent, or leading to another replica. */
export class WireProxy {
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #way: 'open' | 'silent' | 'refused' = 'open';

  private constructor(
    private readonly server: Server,
    private target: number,
  ) {
    server.on('connection', (socket) => this.#carry(socket));
  }

  static async open(target: string): Promise<WireProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new WireProxy(server, Number(new URL(target).port));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Every connection is cut; whoever comes back reaches this one. */
  lead(target: string): void {
    this.target = Number(new URL(target).port);
    this.#way = 'open';
    this.cut();
  }

  cut(): void {
    for (const [one, other] of this.#pairs) {
      one.resetAndDestroy();
      other.destroy();
    }
    this.#pairs.clear();
  }

  /** A cable that is out: who comes is turned away. */
  refuse(): void {
    this.#way = 'refused';
    this.cut();
  }

  /** A machine that sleeps, or a network that swallows everything: connections stay, and nothing comes on them any more. */
  silence(): void {
    this.#way = 'silent';
    for (const [one, other] of this.#pairs) {
      one.pause();
      other.pause();
      other.unpipe(one);
    }
  }

  /** What was silent is dead; from now on everything is carried. */
  restore(): void {
    this.#way = 'open';
    this.cut();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #carry(socket: Socket): void {
    socket.on('error', () => undefined);
    if (this.#way === 'refused') return void socket.resetAndDestroy();
    const up = connect(this.target, '127.0.0.1');
    const pair = [socket, up] as const;
    this.#pairs.add(pair);
    const over = (): void => {
      this.#pairs.delete(pair);
      socket.destroy();
      up.destroy();
    };
    up.on('error', over);
    up.on('close', over);
    socket.on('close', over);
    if (this.#way === 'silent') return void socket.pause();
    socket.pipe(up);
    up.pipe(socket);
  }
}
