import { connect, type Socket } from 'node:net';
import { FrameCutter, type FrameSink } from '../lib/followed-log.js';
import { nowUs, sleep } from '../lib/machine.js';
import { serve } from '../lib/rpc.js';

/**
 * Many followers of many cities at several replicas. Each keeps its place, as a browser does: it comes back with the last id that it has seen whole,
 * to any replica, and every event that follows has to be the next one.
 */
interface Opening {
  readonly ports: readonly number[];
  /** One follower each. */
  readonly cities: readonly string[];
}

interface Churning {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface Seen {
  readonly events: number;
  /** Milliseconds from publishing to the read, of events that were published while the follower was connected, or connecting. */
  readonly latencies: readonly number[];
  /** Milliseconds that a reconnect took, until the first bookmark said that the follower has everything. */
  readonly backs: readonly number[];
  /** Events that a follower has missed, and got after it came back. */
  readonly missed: number;
  readonly gaps: number;
  readonly doubles: number;
  /** Bookmarks of a place that the follower was not at. */
  readonly wrongBookmarks: number;
  /** Streams that ended, or were refused, by themselves; their followers come back. */
  readonly lost: number;
  readonly example: string | undefined;
}

/** Every socket of the process reads into the same memory. */
const shared = Buffer.allocUnsafe(256 * 1024);
const AT_ONCE = 50;
/** After which a follower comes back whose stream has ended by itself. */
const AGAIN_MS = 200;

const nothing = () => ({
  events: 0,
  latencies: [] as number[],
  backs: [] as number[],
  missed: 0,
  gaps: 0,
  doubles: 0,
  wrongBookmarks: 0,
  lost: 0,
});
let seen = nothing();
let example: string | undefined;
const complain = (what: string): void => void (example ??= what);

class Follower implements FrameSink {
  last: number | undefined;
  /** What it waits for: the first bookmark after it was opened. */
  #placed: (() => void) | undefined;
  #socket: Socket | undefined;
  #connectedUs = 0;
  #hasLeft = false;

  constructor(
    readonly city: string,
    private readonly ports: readonly number[],
  ) {}

  event(id: number, stampedUs: number): void {
    seen.events++;
    if (this.last !== undefined && id !== this.last + 1) {
      if (id <= this.last) seen.doubles++;
      else seen.gaps++;
      complain(`${this.city}: ${id} after ${this.last}`);
    }
    this.last = id;
    if (stampedUs < this.#connectedUs) seen.missed++;
    else seen.latencies.push((nowUs() - stampedUs) / 1_000);
  }

  bookmark(id: number): void {
    if (this.last !== undefined && id !== this.last) {
      seen.wrongBookmarks++;
      complain(`${this.city}: bookmark ${id} at ${this.last}`);
    }
    this.last = id;
    this.#placed?.();
    this.#placed = undefined;
  }

  /** Resolves when it is in its place. */
  open(): Promise<void> {
    const port = this.ports[Math.floor(Math.random() * this.ports.length)]!;
    const cutter = new FrameCutter(this);
    let head = '';
    let isOpen = false;
    const receive = (n: number, buffer: Buffer): boolean => {
      if (this.#socket !== socket) return false;
      let data = buffer.subarray(0, n);
      if (!isOpen) {
        head += data.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return true;
        isOpen = true;
        if (!head.startsWith('HTTP/1.1 200')) complain(`${this.city}: ${head.slice(0, 500)}`);
        data = Buffer.from(head.slice(end + 4), 'latin1');
      }
      cutter.take(data);
      return true;
    };
    this.#connectedUs = nowUs();
    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: { buffer: shared, callback: receive },
    });
    this.#socket = socket;
    const resume = this.last === undefined ? '' : `Last-Event-ID: ${this.last}\r\n`;
    socket.write(
      `GET /v0/city/${this.city}/events/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n${resume}\r\n`,
    );
    const placed = new Promise<void>((resolve) => (this.#placed = resolve));
    socket.on('error', (error) => complain(`${this.city}: ${error.message}`));
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      seen.lost++;
      this.#socket = undefined;
      this.#placed?.();
      setTimeout(() => {
        if (this.#socket === undefined && !this.#hasLeft) void this.open();
      }, AGAIN_MS);
    });
    return placed;
  }

  leave(): void {
    this.#hasLeft = true;
    this.#part();
  }

  #part(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  async reopen(): Promise<void> {
    this.#part();
    const started = performance.now();
    await this.open();
    seen.backs.push(performance.now() - started);
  }
}

let followers: Follower[] = [];

async function open({ ports, cities }: Opening): Promise<void> {
  const fresh = cities.map((city) => new Follower(city, ports));
  for (let i = 0; i < fresh.length; i += AT_ONCE) await Promise.all(fresh.slice(i, i + AT_ONCE).map((follower) => follower.open()));
  followers = [...followers, ...fresh];
}

/** So many a second leave and come back at once, whether or not those before them are back. One is not sent away twice. */
async function churn({ perSecond, seconds }: Churning): Promise<void> {
  const started = performance.now();
  const away = new Set<Follower>();
  const coming: Promise<void>[] = [];
  for (let sent = 0; ;) {
    const elapsed = (performance.now() - started) / 1_000;
    if (elapsed >= seconds) break;
    for (const due = Math.floor(elapsed * perSecond); sent < due; sent++) {
      const follower = followers[Math.floor(Math.random() * followers.length)]!;
      if (away.has(follower)) continue;
      away.add(follower);
      coming.push(follower.reopen().finally(() => away.delete(follower)));
    }
    await sleep(1);
  }
  await Promise.all(coming);
}

serve({
  open,
  churn,
  reset: () => void (seen = nothing()),
  read: (): Seen => ({ ...seen, example }),
  /** Followers that are not at these heads. */
  behind: ({ heads }: { heads: Readonly<Record<string, number>> }) => followers.filter(({ city, last }) => last !== heads[city]).length,
  leave: () => {
    for (const follower of followers) follower.leave();
    followers = [];
  },
});
