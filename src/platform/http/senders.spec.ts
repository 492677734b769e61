import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { AppLogger } from '../logging/logger.js';
import { eventually } from '../../../test/support/sse.js';
import { openDoor, type Door } from './testing/front-door.js';

/** Whoever sends without a key may write whatever he likes into a path. */
describe('senders without a key', () => {
  const lines: string[] = [];
  let door: Door;
  beforeAll(async () => {
    const log = new Writable({ write: (line, _encoding, done) => (lines.push(String(line)), done()) });
    const rate = { perSecond: 0.001, burst: 2 };
    door = await openDoor(
      { auth: 'keys', rateLimits: { key: rate, city: rate } },
      {
        logger: new AppLogger(pino({ level: 'info' }, log)),
        extend: (app) =>
          app
            .getHttpAdapter()
            .getInstance()
            .post('/v0/city/:cityName/hook/:name', { config: { operation: { id: 'hook', summary: '', foreign: true } } }, () => 'taken'),
      },
    );
  });
  afterAll(() => door.close());
  const send = async (path: string): Promise<number> => (await fetch(`${door.url}${path}`, { method: 'POST' })).status;

  it('get no further rates by inventing names of cities', async () => {
    const statuses = new Map<number, number>();
    for (let n = 0; n < 1_500; n += 50)
      for (const status of await Promise.all(Array.from({ length: 50 }, (_, i) => send(`/v0/city/invented-${n + i}/hook/x`))))
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect([...statuses.keys()].sort()).toEqual([200, 429]);
    expect(statuses.get(200)).toBeLessThanOrEqual(2 * 256);
    expect(statuses.get(429)).toBeGreaterThanOrEqual(1_500 - 2 * 256);
  });

  it('write no more into the log than a path may be long', async () => {
    lines.length = 0;
    expect(await send(`/v0/city/x/hook/y/${'z'.repeat(10_000)}`)).toBe(404);
    const told = lines.map((line) => JSON.parse(line) as { path?: string });
    expect(told.map(({ path }) => path?.length)).toEqual([2_001]);
  });
});

describe('bodies of senders without a key', () => {
  const MIB = 1 << 20;
  let door: Door;
  let seen = 0;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    const rate = { perSecond: 1_000, burst: 1_000 };
    door = await openDoor(
      { auth: 'keys', rateLimits: { key: rate, city: rate } },
      {
        extend: (app) =>
          app
            .getHttpAdapter()
            .getInstance()
            .post(
              '/v0/city/:cityName/hook/:name',
              {
                config: { operation: { id: 'hook', summary: '', foreign: true } },
                onRequest: (_request, _reply, done) => (seen++, done()),
              },
              () => 'taken',
            ),
      },
    );
  });
  afterAll(() => door.close());
  const begin = (n: number): Socket => {
    const socket = connect(door.port, '127.0.0.1').on('error', () => undefined);
    const type = 'Content-Type: application/json';
    socket.write(`POST /v0/city/nobody${n}/hook/x HTTP/1.1\r\nHost: localhost\r\n${type}\r\nContent-Length: ${MIB}\r\n\r\n{`);
    sockets.push(socket);
    return socket;
  };

  it('count for as much as has come of them, and not for what is announced', async () => {
    for (let n = 0; n < 16; n++) begin(n);
    await eventually(() => seen === 16);
    const headers = { 'Content-Type': 'application/json' };
    expect((await fetch(`${door.url}/v0/city/one/hook/x`, { method: 'POST', headers, body: '{}' })).status).toBe(200);
  });

  it('are refused when too much of them has come at once, and no others of them', async () => {
    begin(16);
    await eventually(() => seen === 18);
    const answers = sockets.map(async (socket) => String((await once(socket, 'data'))[0]));
    for (const socket of sockets) socket.write(Buffer.alloc(MIB - 2));
    expect(await Promise.race(answers)).toMatch(/^HTTP\/1\.1 503 /);
    for (const socket of sockets) socket.write('}');
    const statuses = (await Promise.all(answers)).map((answer) => answer.slice(9, 12)).sort();
    expect(statuses).toEqual([...Array.from({ length: 16 }, () => '200'), '503']);
    for (const socket of sockets) socket.destroy();
  });
});
