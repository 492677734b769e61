import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { eventually } from '../../../../test/support/sse.js';
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

// Guard: each session that begins sweeps, and many at once had no file left.
it('sweeps that come while one is under way take nothing away a second time', async () => {
  const city = await folder('svc-session-folders-');
  for (let n = 0; n < 40; n++) mkdirSync(path.join(city, SESSIONS, `over-${n}`, 'home/a/b/c/d'), { recursive: true });
  // All have seen what is there before the first of them removes any of it.
  let looked = 0;
  let go = (): void => undefined;
  const all = new Promise<void>((resolve) => (go = resolve));
  const openSessions = async (): Promise<string[]> => {
    looked++;
    await all;
    return [];
  };
  const folders = new SessionFolders({ openSessions } as unknown as LaunchRepository);
  const sweeps = Array.from({ length: 50 }, () => folders.sweep(city, 1));
  await eventually(() => Promise.resolve(looked === 50));
  mkdirSync(path.join(city, SESSIONS, 'late'));
  sweeps.push(folders.sweep(city, 1));
  await eventually(() => Promise.resolve(looked === 51));
  const files = (): number => readdirSync('/proc/self/fd').length;
  const before = files();
  let most = 0;
  const look = setInterval(() => (most = Math.max(most, files() - before)), 0);
  go();
  const told: number[] = [];
  const tell = async (sweep: (typeof sweeps)[number]): Promise<void> => void told.push(await (await sweep).removed);
  await Promise.all(sweeps.map(tell)).finally(() => clearInterval(look));
  // Each is told by one sweep: cycles tell how many they have removed.
  expect(told).toHaveLength(51);
  expect(told.filter((count) => count > 0)).toEqual([40, 1]);
  expect(readdirSync(path.join(city, SESSIONS))).toEqual([]);
  expect(most).toBeLessThan(50);
  mkdirSync(path.join(city, SESSIONS, 'later'));
  expect(await (await folders.sweep(city, 1)).removed).toBe(1);
});
