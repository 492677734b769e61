import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../../../test/support/sse.js';
import { clientGone } from '../streams/head-waiter.js';
import { hasLeft, whenGone } from './leaving.js';

let server: Server;
let asked: ServerResponse[];

beforeEach(async () => {
  asked = [];
  server = createServer((_request, response) => asked.push(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** A client that sends so many requests at once. */
async function ask(count: number): Promise<Socket> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(count));
  await eventually(() => asked.length === count);
  return client;
}

/** What has been told of each, in the order in which it was asked. */
function watch(): { told: number[]; forget: (() => void)[] } {
  const told = asked.map(() => 0);
  return { told, forget: asked.map((response, nth) => whenGone(response, () => void told[nth]!++)) };
}

describe('who leaves', () => {
  it('is known to have left, whenever that is asked', async () => {
    const client = await ask(2);
    expect(asked.map(hasLeft)).toEqual([false, false]);
    client.destroy();
    await eventually(() => asked.every(hasLeft));
    expect(watch().told).toEqual([1, 1]);
    expect(asked.map((response) => clientGone(response).aborted)).toEqual([true, true]);
  });

  it('is told of once, of each request of the connection, with one listener for all', async () => {
    const client = await ask(20);
    const { socket } = asked[0]!;
    const before = socket!.listenerCount('close');
    const { told, forget } = watch();
    expect(socket!.listenerCount('close')).toBe(before + 1);
    for (const one of [0, 19]) {
      forget[one]!();
      forget[one]!();
    }
    client.destroy();
    await eventually(() => told[1] === 1);
    expect(told).toEqual([0, ...told.slice(1, 19).map(() => 1), 0]);
  });

  it('has its answer, and is told of once all the same', async () => {
    const client = await ask(2);
    const { told } = watch();
    asked[0]!.end();
    await eventually(() => told[0] === 1);
    expect(told).toEqual([1, 0]);
    client.destroy();
    await eventually(() => told[1] === 1);
    expect(told).toEqual([1, 1]);
  });
});
