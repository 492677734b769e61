import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HeldSocket } from '../../../test/support/held-socket.js';
import { eventually } from '../../../test/support/sse.js';
import type { AppConfig } from '../config/config.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { Channel, type ChannelSource } from './channel.js';
import { handedBy } from './handed.js';
import { Subscriber } from './subscriber.js';
import { mostUnsent, UnsentLimit } from './unsent-limit.js';

const KB = 1_024;
const MB = 1_024 * KB;
/** When the first look is. */
const FIRST = 1e9;

class Told extends AppLogger {
  readonly lines: Record<string, unknown>[] = [];
  constructor() {
    super(createLogger('silent'));
  }
  override warn(fields: unknown): void {
    this.lines.push(fields as Record<string, unknown>);
  }
}

/** Looks only when it is told to: how long a test takes is up to the machine. */
class StillLimit extends UnsentLimit {
  override look(): void {}
  lookAt(now: number): void {
    super.look(now);
  }
}

let told: Told;
let metrics: Metrics;
let limit: StillLimit;
beforeEach(() => {
  told = new Told();
  metrics = new Metrics();
  limit = limitOf(1, metrics);
  limit.most = 4 * MB;
});

const limitOf = (processes: number, at = new Metrics()): StillLimit => new StillLimit(told, at, { processes, role: 'api' } as AppConfig);
/** One look a second, the first at `from`. */
const lookFor = (seconds: number, from = 0): void => {
  for (let n = 0; n <= seconds; n++) limit.lookAt(FIRST + 1_000 * (from + n));
};

const value = async (name: string): Promise<number> => (await metrics.registry.getSingleMetric(name)!.get()).values[0]!.value;

describe('what streams have unsent', () => {
  const opened = (owner = 'key a', encrypted = false) => {
    const line = new HeldSocket();
    line.encrypted = encrypted;
    const socket = line as unknown as Socket;
    return { line, subscriber: new Subscriber(socket, 15_000, () => undefined, undefined, limit.of(socket, owner)) };
  };
  const many = (count: number, owner?: string) => Array.from({ length: count }, () => opened(owner));
  const write = (some: readonly { subscriber: Subscriber }[], bytes = 256 * KB): void => {
    for (const { subscriber } of some) subscriber.write(Buffer.alloc(bytes));
  };
  const cut = (some: readonly { line: HeldSocket }[]): number[] => some.flatMap(({ line }, n) => (line.destroyed ? [n] : []));

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
    lookFor(1);
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
    lookFor(20);
    expect(cut(some)).toEqual([]);
    write(some.slice(0, 4));
    lookFor(0, 21);
    expect(cut(some)).toEqual([0, 1]);
    const young = many(4, 'key b');
    write(young, 1.25 * MB);
    lookFor(5, 22);
    expect([cut(some), cut(young)]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], []]);
  });

  // Guards: who has most pays; who reads is left alone; as few as do.
  it('above it closes those of who has most that take the least, until it is below again', async () => {
    const [few, most] = [many(4, 'key b'), many(16, 'key a')];
    write([...few, ...most]);
    lookFor(5);
    for (const { line } of most.slice(0, 8)) line.take(200 * KB);
    most[8]!.line.take(10 * KB);
    lookFor(0, 6);
    expect([cut(few), cut(most)]).toEqual([[], [9, 10, 11, 12]]);
    expect([limit.bytes, await value('svc_streams_cut_total')]).toEqual([4 * MB, 4]);
    expect(told.lines).toEqual([{ streams: 4, last_of: 'key a', unsent_bytes: 4 * MB }]);
  });

  it('leaves those open that take as much as a steady client, also where the others were not enough', () => {
    const some = many(20);
    write(some);
    lookFor(5);
    for (const { line } of some.slice(2)) line.take(200 * KB);
    lookFor(0, 6);
    expect([cut(some), limit.bytes]).toEqual([[0, 1], 4.5 * MB]);
  });

  // Guard: at the first look nobody knows who reads.
  it('closes also who reads at twice the limit, the slowest first, and no more than that', () => {
    const some = many(40);
    write(some);
    lookFor(0);
    expect(cut(some)).toEqual([]);
    for (const [n, { line }] of some.entries()) line.take((40 + n) * KB);
    lookFor(0, 1);
    expect([cut(some), limit.bytes]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], 8 * MB]);
  });

  // Guards: who makes the excess pays, not who holds the same page as many others.
  it('closes who has memory of its own, not those that share a page', () => {
    const page = Buffer.alloc(200 * KB);
    const sharing = many(400, 'city a');
    for (const { subscriber } of sharing) subscriber.write(page);
    const own = many(30, 'city b');
    write(own);
    lookFor(6);
    expect([cut(sharing), cut(own)]).toEqual([[], Array.from({ length: 15 }, (_, n) => n)]);
    limit.most = 100 * KB;
    lookFor(2, 7);
    expect([cut(sharing), cut(own).length]).toEqual([[], 30]);
  });

  it('closes those of who has the largest share of the memory, where a page is shared', () => {
    const page = Buffer.alloc(800 * KB);
    const sharing = many(40, 'city a');
    for (const { subscriber } of sharing) subscriber.write(page);
    const own = many(20, 'city b');
    write(own);
    lookFor(6);
    expect([cut(sharing), cut(own).length]).toEqual([[], 8]);
  });

  it('closes those last that share a page also at twice the limit, where they are of who has most', () => {
    const page = Buffer.alloc(100 * KB);
    const sharing = many(50);
    for (const { subscriber } of sharing) subscriber.write(page);
    const own = many(40);
    write(own);
    lookFor(0);
    for (const { line } of own) line.take(KB);
    lookFor(0, 1);
    expect([cut(sharing), cut(own).length]).toEqual([[], 9]);
  });

  it('leaves those open that this process did not look at, and who had got everything meanwhile', () => {
    const some = many(17);
    write(some);
    lookFor(4);
    for (const { line } of some) line.take(256 * KB);
    lookFor(0, 5);
    write(some);
    lookFor(3, 66);
    lookFor(0, 600);
    expect(cut(some)).toEqual([]);
  });

  it('weighs within a look what there is time for, and the rest at the next', () => {
    limit.most = Infinity;
    const long = opened('key b');
    for (let n = 0; n < 200_000; n++) long.subscriber.write('x');
    const some = many(20);
    write(some);
    lookFor(6);
    limit.most = 4 * MB;
    lookFor(0, 7);
    expect(cut(some)).toEqual([]);
    lookFor(0, 8);
    expect(cut(some).length).toBeGreaterThan(0);
  });

  it('is an eighth of the memory for all processes that answer together, and 256 MiB of each at the most', () => {
    expect([mostUnsent(1_024 * MB, 1), mostUnsent(8 * 1_024 * MB, 8), mostUnsent(64 * 1_024 * MB, 8)]).toEqual([
      128 * MB,
      128 * MB,
      256 * MB,
    ]);
    expect(limitOf(1_000_000).most).toBe(2 * limitOf(2_000_000).most);
  });

  it('has an end within a look, and is told of now and then', () => {
    const some = many(520);
    write(some, 64 * KB);
    limit.most = 0;
    lookFor(1);
    expect([cut(some).length, told.lines]).toEqual([500, [{ streams: 500, last_of: 'key a', unsent_bytes: 20 * 64 * KB }]]);
    limit.lookAt(FIRST + 2_000);
    expect([cut(some).length, told.lines.length]).toEqual([520, 1]);
    limit.lookAt(FIRST + 11_000);
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
    const silent: Awaited<ReturnType<typeof joins>>[] = [];
    for (let n = 0; n < SILENT; n++) silent.push(await joins(4));
    const open = (): number => silent.filter(({ subscriber }) => subscriber.state !== 'closed').length;
    const reader = await joins(40);
    reader.client.resume();
    let seq = 0;
    const publishes = async (): Promise<void> => {
      for (let n = 0; n < EVENTS; n++) channel.publish({ bytes: Buffer.alloc(LONG), bodyAt: 0, streamId: 1, seq: seq++ });
      await eventually(() => reader.client.bytesRead >= seq * LONG + 40 * 256 * KB);
    };
    await publishes();
    await eventually(() => limit.bytes > SILENT * 100 * KB);
    limit.most = 8 * MB;
    lookFor(150);
    expect(limit.bytes).toBeLessThanOrEqual(8 * MB);
    await eventually(() => open() < SILENT);
    await publishes();
    expect(reader.subscriber.state).toBe('live');
    expect(open()).toBeGreaterThan(SILENT / 10);
  });

  // Guard: the system takes more only once it has room for a megabyte or so, which may last half a minute.
  it('is left open at 100 KB/s although it has most, and the others are closed', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    after.push(() => void server.close());
    await once(server, 'listening');
    limit.most = 60 * MB;
    const joins = async (owner: string, bytes: number): Promise<{ client: Socket; subscriber: Subscriber }> => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
      client.on('error', () => undefined);
      const [socket] = await accepted;
      const subscriber = new Subscriber(socket, 15_000, () => undefined, undefined, limit.of(socket, owner));
      after.push(() => (client.destroy(), subscriber.close()));
      subscriber.write(Buffer.alloc(bytes));
      return { client, subscriber };
    };
    const silent = [await joins('key a', 14 * MB), await joins('key b', 14 * MB)];
    const reader = await joins('key c', 40 * MB);
    const readable: Readable = reader.client;
    let rests = 0;
    // Half a second is as long as the clock of the looks says: the machine may be as slow as it is.
    for (let n = 0; n < 400 && silent.every(({ subscriber }) => subscriber.state !== 'closed'); n++) {
      while (readable.read(50_000) === null) await once(readable, 'readable');
      const before = handedBy(reader.subscriber.socket);
      for (let turns = 0; turns < 5; turns++) await setImmediate();
      if (handedBy(reader.subscriber.socket) === before) rests++;
      limit.lookAt(FIRST + 500 * n);
      expect(reader.subscriber.state).not.toBe('closed');
      await setImmediate();
    }
    expect(silent.filter(({ subscriber }) => subscriber.state === 'closed').length).toBe(1);
    expect(limit.bytes).toBeLessThanOrEqual(60 * MB);
    expect(rests).toBeGreaterThan(10);
  });
});
