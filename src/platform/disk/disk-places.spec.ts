import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { DiskPlaces } from './disk-places.js';

/** Calls that hang until they are answered, to file systems at the first folder of a path. */
function hanging() {
  const places = new DiskPlaces();
  places.mountOf = (file) => `/${file.split('/')[1]!}`;
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
  it('lets one file system have half of the places, and all together leave threads', async () => {
    const { places, begun, answers, done, ask } = hanging();
    ask('/far', 40);
    expect(begun).toEqual(Array.from({ length: 6 }, (_, n) => `/far/${n}`));
    expect(await places.run('/near/a', () => Promise.resolve('read'))).toBe('read');
    ask('/away', 40);
    ask('/third', 1);
    expect(begun).toHaveLength(12);
    expect(begun).not.toContain('/third/0');
    while (begun.length < 81 || answers.length > 0) {
      answers.shift()!();
      await setImmediate();
    }
    expect(await Promise.all(done)).toHaveLength(81);
  });

  it('serves file systems in turn, and each in its order', async () => {
    const { begun, answers, ask } = hanging();
    ask('/a', 9);
    ask('/b', 9);
    ask('/c', 1);
    for (let n = 0; n < 3; n++) {
      answers.shift()!();
      await setImmediate();
    }
    // Each time the first one gives a place back; the second one has half of them all the time.
    expect(begun.slice(12)).toEqual(['/a/6', '/c/0', '/a/7']);
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
