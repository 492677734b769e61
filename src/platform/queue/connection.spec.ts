import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { AppLogger } from '../logging/logger.js';
import type { Opened } from './backend.js';
import { KeptOpen } from './connection.js';
import { QueueTimings } from './timings.js';

// Guard: a connection that nobody ends, and what it would do for a process that stops.
it('closes what has come up only after it was given up', async () => {
  const made = Promise.withResolvers<void>();
  const closed: (boolean | undefined)[] = [];
  const ready: string[] = [];
  const opened: Opened<{ waitUntilReady(): Promise<void> }> = {
    it: { waitUntilReady: () => Promise.resolve() },
    connected: () => true,
    close: (force) => {
      closed.push(force);
      return Promise.resolve();
    },
  };
  const kept = new KeptOpen('a queue', () => made.promise.then(() => opened), new QueueTimings({ openingMs: 5 }), {} as AppLogger);
  kept.open(() => ready.push('ready'));
  await kept.close();
  made.resolve();
  await setImmediate();
  expect([closed, ready, kept.live]).toEqual([[true], [], undefined]);
});
