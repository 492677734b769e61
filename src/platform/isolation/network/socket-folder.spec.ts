import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeSocketFolder, sweepSocketFolders } from './socket-folder.js';

/** Past the age at which a folder may still be on its way. */
const LATER = Date.now() + 3_600_000;
let above: string;

beforeEach(async () => {
  above = await mkdtemp(path.join(tmpdir(), 'svc-folders-'));
});
afterEach(() => rm(above, { recursive: true }));

describe('folders of sockets', () => {
  it('of a process that was killed are swept, and those of others stay', async () => {
    const mine = await makeSocketFolder(above);
    const module = new URL('socket-folder.ts', import.meta.url).href;
    const code = `const { makeSocketFolder } = await import(${JSON.stringify(module)});
      console.log((await makeSocketFolder(${JSON.stringify(above)})).path); setInterval(() => undefined, 1000);`;
    const loader = new URL('../../../../scripts/typescript.mjs', import.meta.url).href;
    const killed = spawn(process.execPath, ['--import', loader, '--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let theirs: string;
    try {
      const [said] = (await once(killed.stdout, 'data')) as [Buffer];
      theirs = path.basename(String(said).trim());
      expect(await sweepSocketFolders(above, LATER)).toBe(0);
    } finally {
      killed.kill('SIGKILL');
    }
    if (killed.signalCode === null) await once(killed, 'exit');
    expect(await sweepSocketFolders(above)).toBe(0);
    expect(await sweepSocketFolders(above, LATER)).toBe(1);
    expect(await readdir(above)).toEqual([path.basename(mine.path)]);
    expect(theirs).toMatch(/^svc-net-/);
    await mine.remove();
    expect(await readdir(above)).toEqual([]);
  });

  it('are no links, and nothing of another name', async () => {
    await mkdir(path.join(above, 'target'));
    await symlink(path.join(above, 'target'), path.join(above, 'svc-net-link'));
    await mkdir(path.join(above, 'svc-other'));
    await utimes(path.join(above, 'svc-other'), 0, 0);
    expect(await sweepSocketFolders(above, LATER)).toBe(0);
    expect((await readdir(above)).sort()).toEqual(['svc-net-link', 'svc-other', 'target']);
  });
});
