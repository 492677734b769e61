import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { AppLogger } from '../logging/logger.js';
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
    expect(await send(`/v0/city/x/hook/y/${'z'.repeat(100_000)}`)).toBe(404);
    const told = lines.map((line) => JSON.parse(line) as { path?: string });
    expect(told.map(({ path }) => path?.length)).toEqual([2_001]);
  });
});
