import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { DiskPlaces } from './disk-places.js';

/** Calls that hang until they are answered, to file systems at the first folder of a path. */
function hanging() {
  const places = new DiskPlaces();
  places.diskOf = (file) => `/${file.split('/')[1]!}`;
  const begun: string[] = [];
  const answers: (() => void)[] = [];
  const done: Promise<unknown>[] = [];
  const call = async (file: string): Promise<string> => {
    begun.push(file);
    await new Promise<void>((answer) => answers.push(answer));
    if (file.endsWith('gone')) throw new Error('gone');
    return file;
  };
  const ask = (mount: string, n: number): void => {
    for (let at = 0; at < n; at++) done.push(places.run(`${mount}/${at}`, () => call(`${mount}/${at}`)));
  };
  return { places, begun, answers, done, ask, call };
}

describe('DiskPlaces', () => {
  // Guard: a disk that does not answer keeps so many threads only.
  it('lets file systems that do not answer leave places to others, and all together leave threads', async () => {
    const { places, begun, answers, done, ask } = hanging();
    for (const mount of ['/a', '/b', '/c', '/d', '/e', '/f']) ask(mount, 40);
    const held = new Map<string, number>();
    for (const file of begun) held.set(file.slice(0, 2), (held.get(file.slice(0, 2)) ?? 0) + 1);
    expect([...held.values()]).toEqual([8, 6, 4, 2, 2, 1]);
    expect(await places.run('/near/a', () => Promise.resolve('read'))).toBe('read');
    ask('/g', 40);
    ask('/h', 1);
    expect(begun).toHaveLength(24);
    while (begun.length < 281 || answers.length > 0) {
      answers.shift()!();
      await setImmediate();
    }
    expect(await Promise.all(done)).toHaveLength(281);
  });

  it('serves file systems in turn, and each in its order', async () => {
    const { begun, answers, ask } = hanging();
    ask('/a', 30);
    ask('/b', 30);
    const before = begun.length;
    for (let n = 0; n < 20; n++) {
      answers.shift()!();
      await setImmediate();
    }
    const after = begun.slice(before);
    for (const [mount, first] of [
      ['/a', 8],
      ['/b', 6],
    ] as const) {
      const served = after.filter((file) => file.startsWith(mount));
      expect(served).toEqual(served.map((_, n) => `${mount}/${first + n}`));
      expect(served.length).toBeGreaterThan(6);
    }
  });

  it('gives the place of what fails back', async () => {
    const { places, call, answers } = hanging();
    const failed = Array.from({ length: 20 }, (_, n) => places.run(`/far/${n}/gone`, () => call('gone')));
    const all = Promise.allSettled(failed);
    for (let n = 0; n < 20; n++) {
      answers.shift()!();
      await setImmediate();
    }
    expect((await all).map(({ status }) => status)).toEqual(new Array(20).fill('rejected'));
    expect(await places.run('/far/a', () => Promise.resolve('read'))).toBe('read');
  });
});
