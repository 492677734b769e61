import { connect, type Socket } from 'node:net';
import { serve } from '../lib/rpc.js';
import { UNIQUE } from '../lib/requests.js';
import { quantile } from '../lib/stats.js';

/**
 * The load client of requests: keep-alive sockets, one request in flight on each, answers read to their end. Groups of
 * sockets run side by side with requests and figures of their own.
 */
export interface RequestGroup {
  readonly name: string;
  readonly connections: number;
  /** Whole requests; a connection takes them in turn. `UNIQUE` in one is another number each time. */
  readonly requests: readonly string[];
  /** Requests a second of the whole group at fixed times; absent: the next one as soon as the answer is there. */
  readonly rate?: number;
}

export interface GroupResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly statuses: Readonly<Record<string, number>>;
}

class Connection {
  #buffer: Buffer = Buffer.alloc(0);
  #answered: ((status: string) => void) | undefined;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('close', () => this.#answered?.('closed'));
    socket.on('error', () => undefined);
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Connection(socket)));
    });
  }

  request(text: string): Promise<string> {
    if (this.socket.destroyed) return Promise.resolve('closed');
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.socket.write(text);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const end = this.#buffer.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#buffer.toString('latin1', 0, end);
    const length = /content-length: (\d+)/i.exec(head);
    if (length === null ? !this.#buffer.subarray(end).includes('0\r\n\r\n') : this.#buffer.length < end + 4 + Number(length[1])) return;
    this.#buffer = Buffer.alloc(0);
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(head.slice(9, 12));
  }
}

async function run({
  port,
  seconds,
  groups,
}: {
  port: number;
  seconds: number;
  groups: readonly RequestGroup[];
}): Promise<Record<string, GroupResult>> {
  const started = performance.now();
  const results = await Promise.all(groups.map((group) => runGroup(port, group, started + seconds * 1000)));
  return Object.fromEntries(groups.map((group, i) => [group.name, results[i]!]));
}

let serial = 0;

/** As long as what it stands for: lengths are in the request already. */
function unique(request: string): string {
  return request.includes(UNIQUE) ? request.replace(UNIQUE, String(++serial).padStart(UNIQUE.length, '0')) : request;
}

async function runGroup(port: number, group: RequestGroup, until: number): Promise<GroupResult> {
  const connections = await Promise.all(Array.from({ length: group.connections }, () => Connection.open(port)));
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const started = performance.now();
  let sent = 0;
  const work = async (connection: Connection, first: number): Promise<void> => {
    for (let i = first; performance.now() < until; i++) {
      let began = performance.now();
      if (group.rate !== undefined) {
        const due = started + (sent++ * 1000) / group.rate;
        if (due > began) await new Promise((resolve) => setTimeout(resolve, due - began));
        began = Math.max(due, performance.now());
      }
      const status = await connection.request(unique(group.requests[i % group.requests.length]!));
      latencies.push(performance.now() - began);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 'closed') return;
    }
  };
  await Promise.all(connections.map((connection, i) => work(connection, i)));
  const seconds = (performance.now() - started) / 1000;
  for (const connection of connections) connection.close();
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    max: quantile(latencies, 1),
    statuses,
  };
}

serve({ run });
