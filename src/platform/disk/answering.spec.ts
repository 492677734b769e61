import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { Answering } from './answering.js';

/** Disks at the first folder of a path; those that hang are answered by `answer`. */
function hanging(...mounts: string[]) {
  const answering = new Answering();
  const asked: string[] = [];
  const waiting = new Map<string, () => void>();
  answering.mountOf = (folder) => {
    const at = `/${folder.split('/')[1]!}`;
    return { at, disk: at, isRemote: mounts.includes(at), isLocal: !mounts.includes(at) };
  };
  answering.ask = async (mount) => {
    asked.push(mount);
    if (mounts.includes(mount)) await new Promise<void>((resolve) => waiting.set(mount, resolve));
    if (mount === '/gone') throw Object.assign(new Error('gone'), { code: 'ENOENT' });
  };
  return { answering, asked, answer: (mount: string) => waiting.get(mount)!() };
}

describe('Answering', () => {
  // Guard: a disk that does not answer keeps one thread.
  it('asks a disk that does not answer once, whichever of its folders is meant', async () => {
    const { answering, asked, answer } = hanging('/far');
    expect(await Promise.all([answering.answers('/far/a', 20), answering.answers('/far/b', 20)])).toEqual([false, false]);
    expect(await answering.answers('/far/c', 20)).toBe(false);
    expect(await answering.answers('/near/a', 60_000)).toBe(true);
    expect(asked).toEqual(['/far', '/near']);
    const late = answering.answers('/far/c', 60_000);
    answer('/far');
    expect(await late).toBe(true);
    const again = answering.answers('/far/c', 60_000);
    answer('/far');
    expect(await again).toBe(true);
    expect(asked).toEqual(['/far', '/near', '/far']);
  });

  // Guard: disks that do not answer leave threads to those that do.
  it('asks no more remote disks while four are silent', async () => {
    const { answering, asked, answer } = hanging('/a', '/b', '/c', '/d', '/e');
    answering.silentMs = -1;
    for (const mount of ['/a', '/b', '/c', '/d', '/e']) expect(await answering.answers(`${mount}/city`, 5)).toBe(false);
    expect(asked).toEqual(['/a', '/b', '/c', '/d']);
    expect(await answering.answers('/near/a', 60_000)).toBe(true);
    answer('/b');
    await setImmediate();
    const next = answering.answers('/e/city', 60_000);
    answer('/e');
    expect(await next).toBe(true);
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
    expect(await hanging().answering.answers('/gone/a', 60_000)).toBe(true);
  });
});
