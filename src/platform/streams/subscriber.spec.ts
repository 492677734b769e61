import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type ListenOptions, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { HeldSocket } from '../../../test/support/held-socket.js';
import { eventually } from '../../../test/support/sse.js';
import { MAX_HELD_BYTES, STEADY_BYTES_MS } from './handed.js';
import { STALL_LIMIT_MS, Subscriber } from './subscriber.js';

const LONG = 950_000;
const LOOK_MS = 1_000;

describe('a stream whose client reads slowly', () => {
  let client: Socket;
  const after: (() => unknown)[] = [];
  afterEach(async () => {
    for (const over of after.splice(0).reverse()) await over();
  });

  async function joined(where: ListenOptions): Promise<Subscriber> {
    const server: Server = createServer().listen(where);
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    client = connect((where.path === undefined ? { port: (server.address() as AddressInfo).port } : where) as NetConnectOpts).pause();
    const [socket] = await accepted;
    const subscriber = new Subscriber(socket, 15_000, () => undefined);
    after.push(() => (client.destroy(), subscriber.close(), server.close()));
    return subscriber;
  }

  /** At least so much more, and not much more than that. */
  async function takes(bytes: number): Promise<void> {
    const upto = client.bytesRead + bytes;
    client.resume();
    while (client.bytesRead < upto) await once(client, 'data');
    client.pause();
  }

  // Guard: a frame of a megabyte is one write, and of that a client of 30 KB/s has taken a third in ten seconds.
  it('is not stalled while it takes a part of one frame, and is when it takes nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-'));
    after.push(() => rm(folder, { recursive: true }));
    // A socket of the file system holds 200 KB for its client at the most: what is longer is taken as the client reads.
    const subscriber = await joined({ path: join(folder, 'socket') });
    const long = STALL_LIMIT_MS + LONG / STEADY_BYTES_MS;
    subscriber.write(Buffer.alloc(LONG));
    let now = Date.now();
    expect(subscriber.stalled(now)).toBe(false);
    expect(subscriber.stalled((now += long))).toBe(true);
    await takes(LONG / 3);
    expect(client.bytesRead).toBeLessThan(LONG);
    await eventually(() => !subscriber.stalled(now), 5_000);
    expect(subscriber.stalled((now += long))).toBe(true);
    await takes(LONG - client.bytesRead);
    await eventually(() => !subscriber.stalled(now), 5_000);
  });

  it('is not stalled while the system holds megabytes for it, and takes more once a third of them is free', async () => {
    const subscriber = await joined({ port: 0, host: '127.0.0.1' });
    for (let n = 0; n < 8; n++) subscriber.write(Buffer.alloc(LONG));
    let now = Date.now();
    while (client.bytesRead < 8 * LONG) {
      expect([client.bytesRead, subscriber.stalled((now += LOOK_MS))]).toEqual([client.bytesRead, false]);
      await takes(Math.min(LOOK_MS * STEADY_BYTES_MS, 8 * LONG - client.bytesRead));
      await sleep(1);
    }
  });
});

describe('how long a stream is given to take more', () => {
  const opened = () => {
    const socket = new HeldSocket();
    return { socket, subscriber: new Subscriber(socket as unknown as Socket, 15_000, () => undefined), start: Date.now() };
  };
  /** When it is found to be stalled, of looks each second; the start is one. */
  const cutAfter = (subscriber: Subscriber, from: number): number => {
    for (let ms = 0; ; ms += LOOK_MS) if (subscriber.stalled(from + ms)) return ms;
  };

  it('is as long as a steady client takes for what the system has taken of it, of the last seconds', () => {
    const { socket, subscriber, start } = opened();
    subscriber.write(Buffer.alloc(LONG));
    socket.take(600_000);
    expect(cutAfter(subscriber, start)).toBe(STALL_LIMIT_MS + 20_000);
    socket.take(30_000);
    expect(cutAfter(subscriber, start + 15_000)).toBe(STALL_LIMIT_MS + 6_000);
  });

  // Guard: who reads nothing would be kept for as long as all that it ever read would take.
  it('is ten seconds after writes that a steady client has long read', () => {
    const { socket, subscriber, start } = opened();
    let now = start;
    for (let n = 0; n < 600; n++) {
      subscriber.write(Buffer.alloc(20_000));
      socket.take(20_000);
      expect(subscriber.stalled((now += LOOK_MS))).toBe(false);
    }
    subscriber.write(Buffer.alloc(20_000));
    expect(cutAfter(subscriber, now)).toBeLessThanOrEqual(STALL_LIMIT_MS + LOOK_MS);
  });

  it('is no longer than for what a system holds', () => {
    const { socket, subscriber, start } = opened();
    subscriber.write(Buffer.alloc(100 * LONG));
    socket.take(50 * LONG);
    expect(cutAfter(subscriber, start)).toBe(Math.ceil((STALL_LIMIT_MS + MAX_HELD_BYTES / STEADY_BYTES_MS) / LOOK_MS) * LOOK_MS);
  });
});
