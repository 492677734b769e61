import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Answering } from './answering.js';

/** File systems at the first folder of a path; those that hang are answered by `answer`. */
function hanging(...mounts: string[]) {
  const answering = new Answering();
  const asked: string[] = [];
  const waiting = new Map<string, () => void>();
  answering.mountOf = (folder) => `/${folder.split('/')[1]!}`;
  answering.ask = async (folder) => {
    asked.push(folder);
    const mount = answering.mountOf(folder);
    if (mounts.includes(mount)) await new Promise<void>((resolve) => waiting.set(mount, resolve));
    if (folder.endsWith('gone')) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
  };
  return { answering, asked, answer: (mount: string) => waiting.get(mount)!() };
}

describe('Answering', () => {
  // Guard: a disk that does not answer keeps one thread.
  it('asks a file system that does not answer once, whichever of its folders is meant', async () => {
    const { answering, asked, answer } = hanging('/far');
    expect(await Promise.all([answering.answers('/far/a', 20), answering.answers('/far/b', 20)])).toEqual([false, false]);
    expect(await answering.answers('/far/c', 20)).toBe(false);
    expect(await answering.answers('/near/a', 60_000)).toBe(true);
    expect(asked).toEqual(['/far/a', '/near/a']);
    const late = answering.answers('/far/c', 60_000);
    answer('/far');
    expect(await late).toBe(true);
    const again = answering.answers('/far/c', 60_000);
    answer('/far');
    expect(await again).toBe(true);
    expect(asked).toEqual(['/far/a', '/near/a', '/far/c']);
  });

  // Guard: a process that was held up takes no disk for silent.
  it('looks once more for an answer when the time is over', async () => {
    const answering = new Answering();
    answering.ask = () => setImmediate();
    // From here on the loop comes to timers first, and to the answer afterwards.
    await setImmediate();
    const first = answering.answers('/far/a', 1);
    const until = performance.now() + 20;
    while (performance.now() < until);
    expect(await Promise.all([first, answering.answers('/far/a', 1)])).toEqual([true, true]);
  });

  it('takes any answer for one', async () => {
    expect(await hanging().answering.answers('/near/gone', 60_000)).toBe(true);
  });

  it('knows where a file system is mounted', () => {
    const { mountOf } = new Answering();
    // Elsewhere the system does not tell, and each folder counts by itself.
    if (!existsSync('/proc/self/mountinfo')) return expect(mountOf('/a/b')).toBe('/a/b');
    expect(mountOf('/proc')).toBe('/proc');
    expect(mountOf('/proc/self/fd')).toMatch(/^\/proc(\/self)?$/);
    expect(mountOf('/process')).toBe('/');
  });
});
