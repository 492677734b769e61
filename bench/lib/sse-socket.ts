import { connect, type Socket } from 'node:net';
import { nowUs } from './machine.js';

const STAMP_DIGITS = 16;
/** Every socket of a process reads into the same memory: a thousand of them cost no buffers. */
const shared = Buffer.allocUnsafe(256 * 1024);

export interface SocketOptions {
  readonly port: number;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text that precedes the 16 digits of each event's time, for example `"t": "`. */
  readonly mark?: string;
}

export interface SocketEvents {
  /** Once an event: the microseconds since it was published. */
  event(latencyUs: number): void;
  bytes?(n: number): void;
  closed?(): void;
  /** Every read, for who looks for something else. */
  text?(chunk: Buffer): void;
}

/** Opens one event stream as raw bytes; resolves when its answer's head has come. Rejects unless that is a 200. */
export function openSseSocket(options: SocketOptions, events: SocketEvents): Promise<Socket> {
  const mark = Buffer.from(options.mark ?? '"t": "');
  const extra = Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    let head = true;
    let carry: Buffer | undefined;
    const receive = (n: number, buffer: Buffer): boolean => {
      events.bytes?.(n);
      let data = buffer.subarray(0, n);
      if (head) {
        head = false;
        const status = data.toString('latin1', 9, 12);
        if (status !== '200') reject(new Error(`the stream was refused: ${data.toString('latin1', 0, 2_000)}`));
        else resolve(socket);
      }
      events.text?.(data);
      if (carry !== undefined) data = Buffer.concat([carry, data]);
      carry = undefined;
      let last = 0;
      const now = nowUs();
      for (let at = data.indexOf(mark); at >= 0; at = data.indexOf(mark, last)) {
        const from = at + mark.length;
        if (from + STAMP_DIGITS > data.length) break;
        events.event(now - Number(data.toString('latin1', from, from + STAMP_DIGITS)));
        last = from + STAMP_DIGITS;
      }
      const rest = Math.max(last, data.length - mark.length - STAMP_DIGITS); // a mark may be cut at the end of a read
      if (rest < data.length) carry = Buffer.from(data.subarray(rest));
      return true;
    };
    const socket = connect({ host: '127.0.0.1', port: options.port, noDelay: true, onread: { buffer: shared, callback: receive } });
    socket.once('connect', () =>
      socket.write(`GET ${options.path} HTTP/1.1\r\nHost: 127.0.0.1:${options.port}\r\nAccept: text/event-stream\r\n${extra.join('')}\r\n`),
    );
    socket.on('error', reject);
    socket.on('close', () => events.closed?.());
  });
}

/** `n` of them, a hundred at a time. */
export async function openMany(n: number, open: (i: number) => Promise<Socket>): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < n; i += 100) {
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(100, n - i) }, (_, k) => open(i + k)))));
  }
  return sockets;
}
