import type { Socket } from 'node:net';
import { connect, createServer, type Server } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { STALL_LIMIT_MS, Subscriber } from './subscriber.js';

const LONG = 950_000;

let folder: string;
let server: Server;
let client: Socket;
let subscriber: Subscriber;

// A socket of the file system holds 200 KB for its client at the most: what is longer is taken as the client reads.
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-'));
  server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  client = connect(join(folder, 'socket')).pause();
  const [socket] = await accepted;
  subscriber = new Subscriber(socket, 15_000, () => undefined);
});
afterEach(async () => {
  client.destroy();
  subscriber.close();
  server.close();
  await rm(folder, { recursive: true });
});

/** At least so much more, and not much more than that. */
async function takes(bytes: number): Promise<void> {
  const upto = client.bytesRead + bytes;
  client.resume();
  while (client.bytesRead < upto) await once(client, 'data');
  client.pause();
}

describe('a stream whose client reads slowly', () => {
  // Guard: a frame of a megabyte is one write, and of that a client of 30 KB/s has taken a third in ten seconds.
  it('is not stalled while it takes a part of one frame, and is when it takes nothing', async () => {
    subscriber.write(Buffer.alloc(LONG));
    let now = Date.now();
    expect(subscriber.stalled(now)).toBe(false);
    expect(subscriber.stalled((now += STALL_LIMIT_MS))).toBe(true);
    await takes(LONG / 3);
    expect(client.bytesRead).toBeLessThan(LONG);
    await eventually(() => !subscriber.stalled(now), 5_000);
    expect(subscriber.stalled((now += STALL_LIMIT_MS))).toBe(true);
    await takes(LONG - client.bytesRead);
    await eventually(() => !subscriber.stalled(now), 5_000);
  });
});
