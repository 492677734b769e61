import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, writeFileSync } from 'node:fs';
import { access, chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { USER_NUMBERS } from '../../../test/support/user-numbers.js';
import { UnconfirmedDead } from '../runtime/port.js';
import { asLentUser, endLeft } from './lent-user.js';
import type { Users } from './users.js';

/** The first two that are lent. */
const [FIRST, SECOND] = [USER_NUMBERS.sessions.first + 1, USER_NUMBERS.sessions.first + 2];
let below: string;
let folder: string;
beforeEach(async () => {
  below = await mkdtemp(path.join(tmpdir(), 'svc-lent-to-'));
  folder = path.join(below, 'folder');
  await mkdir(folder);
});
afterEach(() => rm(below, { recursive: true, force: true }));

/** Of what runs as them nothing can be ended as long as the host says so. */
class Stuck {
  readonly locked = new Set<number>();
  readonly stuck = new Set<number>();
  /** Those that another process has. */
  readonly others = new Set<number>();
  readonly ended: number[] = [];
  readonly notes = new Map<number, string>();
  #freed = Promise.withResolvers<void>();
  #tries = new Map<number, number>();

  readonly users = {
    lentTo: () => [FIRST, SECOND],
    lock: async (user: number) => {
      if (this.others.has(user)) return undefined;
      this.locked.add(user);
      return {
        noted: this.notes.get(user) ?? '',
        note: async (text: string) => void this.notes.set(user, text),
        release: async () => void this.locked.delete(user),
      };
    },
    end: (user: number) => this.#end(user),
    sandbox: ({ user }: { user: number }) => ({ user }),
  } as unknown as Users;

  free(): void {
    this.stuck.clear();
    this.#freed.resolve();
  }

  /** It is told at once, and whoever tries it once more waits. */
  async #end(user: number): Promise<void> {
    this.ended.push(user);
    if (!this.stuck.has(user)) return;
    const tries = (this.#tries.get(user) ?? 0) + 1;
    this.#tries.set(user, tries);
    if (tries > 1) return this.#freed.promise;
    throw new UnconfirmedDead('it does not die');
  }
}

(process.getuid?.() === 0 ? describe : describe.skip)('a user that is lent (skipped: not root)', () => {
  const lentTo = (host: Stuck, then?: (home: string) => void, folders: string[] = []): Promise<number> =>
    asLentUser(host.users, { folders, below }, async (sandbox, home) => (then?.(home), (sandbox as unknown as { user: number }).user));

  it('is another one while what was left as one cannot be ended', async () => {
    const host = new Stuck();
    host.stuck.add(FIRST);
    expect([await lentTo(host), await lentTo(host)]).toEqual([SECOND, SECOND]);
    expect([...host.locked]).toEqual([FIRST]);
    host.free();
    await eventually(() => host.locked.size === 0);
    expect(await lentTo(host)).toBe(FIRST);
  });

  it('leaves nothing where everybody may write to the next one, also not what a process that was killed has kept of it', async () => {
    const host = new Stuck();
    const kept = await mkdtemp(path.join(tmpdir(), 'svc-lent-'));
    await writeFile(path.join(kept, 'secret'), '');
    await chown(kept, FIRST, FIRST);
    const others = path.join(below, '..', `${path.basename(below)}-others`);
    await writeFile(others, '');
    await chown(others, SECOND, SECOND);
    const left = path.join('/var/tmp', path.basename(kept));
    const work = lentTo(host, () => {
      expect(existsSync(kept)).toBe(false);
      writeFileSync(left, '');
      chownSync(left, FIRST, FIRST);
    });
    expect(await work).toBe(FIRST);
    expect(await lentTo(host)).toBe(FIRST);
    expect([existsSync(left), existsSync(others)]).toEqual([false, true]);
    await rm(others);
  });

  it('has nothing of a home that a process which was killed has kept, wherever that is', async () => {
    const host = new Stuck();
    // Nobody would find it by a look at what lies where everybody may write.
    const kept = path.join(below, 'svc-lent-kept');
    await mkdir(kept);
    host.notes.set(FIRST, kept);
    host.notes.set(SECOND, folder);
    const homes: [unknown, string][] = [];
    expect(await lentTo(host, (home) => homes.push([host.notes.get(FIRST), home]))).toBe(FIRST);
    expect([existsSync(kept), homes[0]![0], host.notes.get(FIRST)]).toEqual([false, homes[0]![1], '']);
    // What is no home stays, whatever is noted.
    host.stuck.add(FIRST);
    expect([await lentTo(host), existsSync(folder)]).toEqual([SECOND, true]);
    host.free();
    await eventually(() => host.locked.size === 0);
  });

  it('is kept, with what it was given, until nothing runs as it any more', async () => {
    const host = new Stuck();
    let home = '';
    const work = lentTo(host, (own) => ((home = own), host.stuck.add(FIRST)), [folder]);
    await expect(work).rejects.toThrow(UnconfirmedDead);
    expect([await lentTo(host), [...host.locked], (await stat(folder)).uid]).toEqual([SECOND, [FIRST], FIRST]);
    host.free();
    await eventually(() => host.locked.size === 0);
    expect([await lentTo(host), (await stat(folder)).uid]).toEqual([FIRST, 0]);
    await expect(access(home)).rejects.toThrow('ENOENT');
  });

  // Guard: what has thrown its variables away would run on until the same number is lent again.
  it('is ended with what a process that was killed has left, and not where another one has it', async () => {
    const host = new Stuck();
    host.others.add(SECOND);
    const left = path.join('/var/tmp', path.basename(below));
    await writeFile(left, '');
    await chown(left, FIRST, FIRST);
    const nobody = USER_NUMBERS.sessions.first + 3;
    const users = { ...host.users, lentTo: () => [FIRST, SECOND, nobody] } as unknown as Users;
    const running = [FIRST, SECOND].map((uid) => spawn('sleep', ['600'], { uid, stdio: 'ignore' }));
    try {
      await Promise.all(running.map((each) => once(each, 'spawn')));
      expect(await endLeft(users, () => undefined)).toEqual([FIRST]);
      expect([host.ended, [...host.locked], existsSync(left)]).toEqual([[FIRST], [], false]);
      // One that another worker has given back since the look.
      const lock = async (user: number): Promise<unknown> => {
        if (user !== FIRST) return undefined;
        const gone = once(running[0]!, 'exit');
        running[0]!.kill('SIGKILL');
        await gone;
        return host.users.lock(user);
      };
      expect(await endLeft({ ...users, lock } as unknown as Users, () => undefined)).toEqual([]);
      running.push(spawn('sleep', ['600'], { uid: FIRST, stdio: 'ignore' }));
      await once(running.at(-1)!, 'spawn');
      // One that this process has is no leftover.
      expect(await asLentUser(host.users, { folders: [], below }, () => endLeft(users, () => undefined))).toEqual([]);
    } finally {
      for (const each of running) each.kill('SIGKILL');
    }
  });
});
