import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import type { LaunchRepository } from './launch.repository.js';
import { SessionFolders, SESSIONS } from './session-folders.js';

afterAll(removeFolders);

// Guard: a process had no file left while the folders of many sessions were taken away.
it('sessions that are over have their folders taken away one after the other', async () => {
  const city = await folder('svc-session-folders-');
  const over = Array.from({ length: 200 }, (_, n) => `over-${n}`);
  for (const name of [...over, 'open', 'begins']) mkdirSync(path.join(city, SESSIONS, name, 'home/a/b'), { recursive: true });
  const folders = new SessionFolders({ openSessions: async () => ['open'] } as unknown as LaunchRepository);
  const files = (): number => readdirSync('/proc/self/fd').length;
  const before = files();
  const { removed } = await folders.sweep(city, 1, 'begins');
  let most = 0;
  const look = setInterval(() => (most = Math.max(most, files() - before)), 0);
  expect(await removed.finally(() => clearInterval(look))).toBe(200);
  expect(readdirSync(path.join(city, SESSIONS)).sort()).toEqual(['begins', 'open']);
  expect(most).toBeLessThan(50);
});
