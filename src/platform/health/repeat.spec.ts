import { expect, it } from '@jest/globals';
import type { AppLogger } from '../logging/logger.js';
import { Lifecycle } from './lifecycle.js';
import { pauseAfter, repeat } from './repeat.js';

// Guard: a worker wrote eighty lines a second, with their stacks, as long as its database was away, and lost the reason among them.
it('says a failure that stays once, another one, and the same one after it had gone', async () => {
  const said: string[] = [];
  const log = { warn: ({ err }: { err: Error }, line: string) => void said.push(`${line}: ${err.message}`) } as unknown as AppLogger;
  const turns = ['away', 'away', 'starting up', 'away', 'starting up', '', 'starting up', ''];
  const lifecycle = new Lifecycle(log);
  await new Promise<void>((resolve) => {
    const work = (): Promise<void> => {
      if (turns.length === 0) resolve();
      const why = turns.shift() ?? '';
      return why === '' ? Promise.resolve() : Promise.reject(new Error(why));
    };
    repeat(lifecycle, log, { name: 'works', everyMs: 1, work });
  });
  await lifecycle.stop();
  expect(said).toEqual(['away', 'starting up', 'starting up'].map((why) => `works: this turn failed: ${why}`));
});

// Guard: it asked fifty times a second.
it('has who fails again and again wait for a second at the most, and who waits longer anyway no longer than that', () => {
  expect([0, 1, 2, 10, 5_000].map((failures) => pauseAfter(failures, 10))).toEqual([10, 20, 40, 1_000, 1_000]);
  expect([pauseAfter(0, 60_000), pauseAfter(9, 60_000), pauseAfter(5_000, 0)]).toEqual([60_000, 60_000, 1_000]);
});
