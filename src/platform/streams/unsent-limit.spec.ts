import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { Channel, type ChannelSource } from './channel.js';
import { Subscriber } from './subscriber.js';
import { UnsentLimit } from './unsent-limit.js';

const KB = 1_024;
const MB = 1_024 * KB;
/** Later than any look of its own. */
const LATER = 1e9;

class Told extends AppLogger {
  readonly lines: Record<string, unknown>[] = [];
  constructor() {
    super(createLogger('silent'));
  }
  override warn(fields: unknown): void {
    this.lines.push(fields as Record<string, unknown>);
  }
}

/** A socket of which the system takes what it is told to. */
class Line extends Writable {
  readonly _handle = { bytesWritten: 0, writeQueueSize: 0 };
  encrypted = false;
  #done = (): void => undefined;
  constructor() {
    super({ decodeStrings: false, highWaterMark: 16 * KB });
  }
  setTimeout(): void {}
  setNoDelay(): void {}
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this._handle.bytesWritten += chunk.length;
    this._handle.writeQueueSize += chunk.length;
    this.#done = done;
  }
  take(bytes: number): void {
    this._handle.writeQueueSize -= bytes;
    if (this._handle.writeQueueSize === 0) this.#done();
  }
}

let told: Told;
let metrics: Metrics;
let limit: UnsentLimit;
beforeEach(() => {
  told = new Told();
  metrics = new Metrics();
  limit = new UnsentLimit(told, metrics);
  limit.most = 4 * MB;
});

const value = async (name: string): Promise<number> => (await metrics.registry.getSingleMetric(name)!.get()).values[0]!.value;

describe('what streams have unsent', () => {
  const opened = (owner = 'key a', encrypted = false) => {
    const line = new Line();
    line.encrypted = encrypted;
    const socket = line as unknown as Socket;
    return { line, subscriber: new Subscriber(socket, 15_000, () => undefined, undefined, limit.of(socket, owner)) };
  };
  const many = (count: number, owner?: string) => Array.from({ length: count }, () => opened(owner));
  const write = (some: readonly { subscriber: Subscriber }[], bytes = 256 * KB): void => {
    for (const { subscriber } of some) subscriber.write(Buffer.alloc(bytes));
  };
  const cut = (some: readonly { line: Line }[]): number[] => some.flatMap(({ line }, n) => (line.destroyed ? [n] : []));
  const lookTwice = (): void => {
    limit.look(LATER);
    limit.look(LATER + 1_000);
  };

  it('is let go of once it is taken, whatever was written', async () => {
    const { line, subscriber } = opened();
    subscriber.write(Buffer.alloc(100));
    subscriber.write('x'.repeat(50));
    expect([limit.bytes, await value('svc_stream_unsent_bytes')]).toEqual([150, 150]);
    line.take(100);
    await eventually(() => line._handle.writeQueueSize === 50);
    subscriber.write(Buffer.alloc(1));
    expect(limit.bytes).toBe(51);
    line.destroy();
    await eventually(() => limit.bytes === 0);
  });

  it('is there once for all who were written the same memory, and for each of those with TLS', () => {
    const page = Buffer.alloc(MB);
    const some = many(20);
    for (const [n, { subscriber }] of some.entries()) subscriber.write(page.subarray(n));
    lookTwice();
    expect([limit.bytes, cut(some)]).toEqual([MB, []]);
    const secure = Array.from({ length: 3 }, () => opened('key a', true));
    for (const { subscriber } of secure) subscriber.write(page);
    expect(limit.bytes).toBe(4 * MB);
    for (const { line } of secure) line.destroy();
    expect(limit.bytes).toBe(4 * MB);
  });

  it('closes nothing up to its limit, nor who was only just written to', () => {
    const some = many(16);
    write(some);
    lookTwice();
    expect(cut(some)).toEqual([]);
    write(some.slice(0, 4));
    limit.look(LATER + 1_001);
    const young = many(4, 'key b');
    write(young, MB);
    limit.look(LATER + 1_002);
    expect([cut(some), cut(young)]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], []]);
  });

  // Guards: who has most pays; who reads is left alone; as few as do.
  it('above it closes those of who has most that take the least, until it is below again', async () => {
    const [few, most] = [many(4, 'key b'), many(16, 'key a')];
    write([...few, ...most]);
    limit.look(LATER);
    for (const { line } of most.slice(0, 8)) line.take(40 * KB);
    most[8]!.line.take(10 * KB);
    limit.look(LATER + 1_000);
    expect([cut(few), cut(most)]).toEqual([[], [9, 10, 11, 12]]);
    expect([limit.bytes, await value('svc_streams_cut_total')]).toEqual([4 * MB, 4]);
    expect(told.lines).toEqual([{ streams: 4, last_of: 'key a', unsent_bytes: 4 * MB }]);
  });

  it('leaves those open that take as much as a steady client, also where the others were not enough', () => {
    const some = many(20);
    write(some);
    limit.look(LATER);
    for (const { line } of some.slice(2)) line.take(40 * KB);
    limit.look(LATER + 1_000);
    expect([cut(some), limit.bytes]).toEqual([[0, 1], 4.5 * MB]);
  });

  // Guard: at the first look nobody knows who reads.
  it('closes also who reads at twice the limit, the slowest first, and no more than that', () => {
    const some = many(40);
    write(some);
    limit.look(LATER);
    expect(cut(some)).toEqual([]);
    for (const [n, { line }] of some.entries()) line.take((40 + n) * KB);
    limit.look(LATER + 1_000);
    expect([cut(some), limit.bytes]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], 8 * MB]);
  });

  it('has an end within a look, and is told of now and then', () => {
    const some = many(520);
    write(some, 64 * KB);
    limit.most = 0;
    lookTwice();
    expect([cut(some).length, told.lines]).toEqual([500, [{ streams: 500, last_of: 'key a', unsent_bytes: 20 * 64 * KB }]]);
    limit.look(LATER + 2_000);
    expect([cut(some).length, told.lines.length]).toEqual([520, 1]);
    limit.look(LATER + 11_000);
    expect(told.lines.slice(1)).toEqual([{ streams: 20, last_of: 'key a', unsent_bytes: 0 }]);
  });
});

describe('a client that reads beside hundreds that do not', () => {
  const SILENT = 200;
  const EVENTS = 400;
  const LONG = 20_000;
  const after: (() => unknown)[] = [];
  afterEach(async () => {
    for (const over of after.splice(0).reverse()) await over();
  });

  // Guard: nobody is held up by those, or closed in their place.
  it('gets every event, and of the others as many are closed as have too much', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-'));
    const path = join(folder, 'socket');
    const server = createServer().listen(path);
    after.push(
      () => rm(folder, { recursive: true }),
      () => void server.close(),
    );
    await once(server, 'listening');
    /** The last has a replay of its own for everybody. */
    const source: ChannelSource = { replay: (s) => replayed(s), currentId: () => 'now' };
    const replayed = (s: Subscriber): Promise<Buffer | undefined> => {
      const lag = s.lag!.get(1)!;
      if (++lag.pos >= lag.upto) s.lag = undefined;
      return Promise.resolve(Buffer.alloc(256 * KB));
    };
    const channel = new Channel(source, metrics.counter({ name: 'sent', help: 'sent' }));
    const joins = async (replays: number): Promise<{ client: Socket; subscriber: Subscriber }> => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = connect(path).pause();
      client.on('error', () => undefined);
      const [socket] = await accepted;
      const subscriber = new Subscriber(socket, 15_000, (s) => channel.remove(s), undefined, limit.of(socket, 'key '));
      after.push(() => (client.destroy(), subscriber.close()));
      subscriber.next = channel.end;
      if (replays > 0) subscriber.lag = new Map([[1, { pos: 0, upto: replays }]]);
      channel.attach(subscriber);
      return { client, subscriber };
    };
    limit.most = 8 * MB;
    const silent: Awaited<ReturnType<typeof joins>>[] = [];
    for (let n = 0; n < SILENT; n++) silent.push(await joins(4));
    const open = (): number => silent.filter(({ subscriber }) => subscriber.state !== 'closed').length;
    const reader = await joins(40);
    reader.client.resume();
    for (let n = 0; n < EVENTS; n++) channel.publish({ bytes: Buffer.alloc(LONG), bodyAt: 0, streamId: 1, seq: n });
    await eventually(() => limit.bytes > SILENT * 100 * KB);
    lookTwice();
    expect(limit.bytes).toBeLessThanOrEqual(8 * MB);
    await eventually(() => open() < SILENT);
    await eventually(() => reader.client.bytesRead >= EVENTS * LONG + 40 * 256 * KB);
    expect(reader.subscriber.state).toBe('live');
    expect(open()).toBeGreaterThan(SILENT / 10);
  });

  const lookTwice = (): void => {
    limit.look(LATER);
    limit.look(LATER + 1_000);
  };
});
