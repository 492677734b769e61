import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../../../test/support/sse.js';
import { hostLock } from './host-lock.js';

const FLOCK = '/usr/bin/flock';

let base: string;
let folder: string;
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'svc-lock-'));
  folder = path.join(base, 'locks');
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('a lock of a host', () => {
  it('is for one at a time, and free again when it is let go', async () => {
    const first = await hostLock(FLOCK, '1', folder);
    expect(first).toBeDefined();
    expect(await hostLock(FLOCK, '1', folder)).toBeUndefined();
    const other = await hostLock(FLOCK, '2', folder);
    await other!.release();
    await first!.release();
    const again = await hostLock(FLOCK, '1', folder);
    expect(again).toBeDefined();
    await again!.release();
  });

  it('is let go once others can have it', async () => {
    const slow = path.join(base, 'flock');
    await writeFile(slow, '#!/bin/sh\nexec 9>>"$3"; /usr/bin/flock --nonblock 9 || exit 1; "$4"; /bin/sleep 0.3\n', { mode: 0o755 });
    const first = await hostLock(slow, '1', folder);
    expect(await hostLock(FLOCK, '1', folder)).toBeUndefined();
    await first!.release();
    const again = await hostLock(FLOCK, '1', folder);
    expect(again).toBeDefined();
    await again!.release();
    // Also where its child has gone long before.
    await again!.release();
  });

  it('is nobody else’s to come near', async () => {
    // As a volume is mounted.
    await mkdir(folder, { mode: 0o777 });
    await chmod(folder, 0o777);
    await (await hostLock(FLOCK, '1', folder))!.release();
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('ends with the process that has it', async () => {
    const module = path.join(import.meta.dirname, 'host-lock.ts');
    const script = `const { hostLock } = await import(${JSON.stringify(module)}); console.log(typeof (await hostLock(${JSON.stringify(FLOCK)}, '1', ${JSON.stringify(folder)}))); setInterval(() => 0, 1000);`;
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = (await once(holder.stdout, 'data')) as [Buffer];
    expect(said.toString()).toBe('object\n');
    expect(await hostLock(FLOCK, '1', folder)).toBeUndefined();
    holder.kill('SIGKILL');
    await eventually(async () => {
      const mine = await hostLock(FLOCK, '1', folder);
      await mine?.release();
      return mine !== undefined;
    });
  });

  it('says what was noted by the last one that had it, if that was written to its end', async () => {
    const seen: string[] = [];
    for (const text of ['/tmp/home', '/tmp/other', '']) {
      const lock = (await hostLock(FLOCK, '1', folder))!;
      seen.push(lock.noted);
      await lock.note(text);
      await lock.release();
    }
    await writeFile(path.join(folder, '1'), '/tmp');
    const last = (await hostLock(FLOCK, '1', folder))!;
    expect([...seen, last.noted]).toEqual(['', '/tmp/home', '/tmp/other', '']);
    await last.release();
  });

  it('cannot be had without the program for it', async () => {
    await expect(hostLock('/usr/bin/flock-of-nobody', '1', folder)).rejects.toThrow('ENOENT');
  });
});
