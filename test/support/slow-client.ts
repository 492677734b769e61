import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { jest } from '@jest/globals';
import { MAX_HELD_BYTES, STEADY_BYTES_MS } from '../../src/platform/streams/handed.js';
import { STALL_LIMIT_MS, Subscriber } from '../../src/platform/streams/subscriber.js';

const { stalled } = Subscriber.prototype;

/** A client of an event stream that decides itself when it reads. It does not read until `resume`. */
export class SlowClient {
  readonly #frames: string[] = [];
  #rest = '';
  #closed = false;

  private constructor(private readonly socket: Socket) {
    socket.on('close', () => (this.#closed = true)).on('error', () => undefined);
  }

  /** Nobody is closed for not reading, until all mocks are restored: how long the writing beside it takes is up to the machine. */
  static tolerate(): void {
    jest.spyOn(Subscriber.prototype, 'stalled').mockReturnValue(false);
  }

  /** For whoever does not read the limit is over from now on, until all mocks are restored. */
  static timePasses(): void {
    jest.spyOn(Subscriber.prototype, 'stalled').mockImplementation(function (this: Subscriber, now) {
      return stalled.call(this, now + STALL_LIMIT_MS + MAX_HELD_BYTES / STEADY_BYTES_MS);
    });
  }

  /** Resolves once the answer has begun. */
  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<SlowClient> {
    const target = new URL(url);
    const at = { host: target.hostname, port: Number(target.port) };
    const socket = target.protocol === 'https:' ? connectSecurely(at) : connect(at);
    const client = new SlowClient(socket);
    const lines = Object.entries({ Host: target.host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${target.pathname}${target.search} HTTP/1.1\r\n${lines.join('')}\r\n`);
    await new Promise<void>((resolve) => socket.once('data', (chunk: Buffer) => resolve(client.#take(chunk))));
    socket.pause();
    return client;
  }

  get closed(): boolean {
    return this.#closed;
  }

  resume(): void {
    this.socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.socket.resume();
  }

  close(): void {
    this.socket.destroy();
  }

  /** Ids of all turns in the frames of a session's stream. */
  turnIds(): string[] {
    const data = this.#frames
      .filter((frame) => frame.includes('\nevent: turn\n'))
      .map((frame) => frame.slice(frame.indexOf('\ndata: ') + 7));
    return data.flatMap((text) => (JSON.parse(text) as { turns: { id: string }[] }).turns.map(({ id }) => id));
  }

  /** Ids of all complete frames, heartbeats included, and seqs of the events, of a city's stream. */
  read(): { ids: number[]; seqs: number[] } {
    const id = (frame: string): number[] => (/^id: (\d+)/m.exec(frame)?.slice(1) ?? []).map(Number);
    return { ids: this.#frames.flatMap(id), seqs: this.#frames.filter((frame) => frame.includes('\nevent: event\n')).flatMap(id) };
  }

  /** Each byte is looked at once, however often it is asked for the frames. */
  #take(chunk: Buffer): void {
    const frames = (this.#rest + chunk.toString('latin1')).split('\n\n');
    this.#rest = frames.pop()!;
    this.#frames.push(...frames);
  }
}
