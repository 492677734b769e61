import { expect, it } from '@jest/globals';
import type { AppLogger } from '../logging/logger.js';
import { Readiness } from './readiness.js';

// Guard: an outage whose log says everything but what it is.
it('says once of each part that fails why, and once that it works again', async () => {
  const told: unknown[] = [];
  const say = (fields: object, text: string): unknown => told.push({ ...fields, text });
  const readiness = new Readiness({ warn: say, info: say } as unknown as AppLogger);
  let broken = true;
  readiness.register('database', () => (broken ? Promise.reject(new Error('getaddrinfo ENOTFOUND db')) : undefined));
  readiness.register('queue', () => (broken ? 'not connected' : undefined));
  readiness.register('other', () => undefined);

  // The probe is open to everybody, the log is not.
  expect(await readiness.failures()).toEqual({ database: 'the check failed, its log says why', queue: 'not connected' });
  await readiness.failures();
  expect(told).toHaveLength(2);
  expect(told).toEqual(
    expect.arrayContaining([
      {
        part: 'database',
        why: 'getaddrinfo ENOTFOUND db',
        text: 'database: does not work, so this process is not ready: getaddrinfo ENOTFOUND db',
      },
      { part: 'queue', why: 'not connected', text: 'queue: does not work, so this process is not ready: not connected' },
    ]),
  );

  broken = false;
  await readiness.failures();
  await readiness.failures();
  expect(told.slice(2)).toEqual(
    expect.arrayContaining([
      { part: 'database', text: 'database: works again' },
      { part: 'queue', text: 'queue: works again' },
    ]),
  );
  expect(told).toHaveLength(4);
});

// Guard: the probe is open to everybody, and checks ask the database.
it('asks once for all who ask meanwhile, and again for who comes later', async () => {
  const readiness = new Readiness({ warn: () => undefined, info: () => undefined } as unknown as AppLogger);
  let asked = 0;
  readiness.register('database', async () => {
    asked++;
    await new Promise((resolve) => setImmediate(resolve));
    return undefined;
  });
  await Promise.all(Array.from({ length: 20 }, () => readiness.failures()));
  expect(asked).toBe(1);
  await readiness.failures();
  expect(asked).toBe(2);
});
