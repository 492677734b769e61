import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Mount } from '../../../platform/isolation/mounts.js';
import { SessionSandboxes } from './session-sandbox.js';

let city: string;
beforeEach(async () => {
  city = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-sandbox-')));
});
afterEach(() => rm(city, { recursive: true }));

describe('a start where users are the walls', () => {
  // Guard: it was given up, and goes on late: the user is that of the later start as well.
  it('ends what is left of its session up to itself, and is over where a later one runs', async () => {
    const ended: unknown[] = [];
    const users = { identityOf: () => ({ user: 7, group: 8 }), end: async (...what: unknown[]) => (ended.push(what), false) };
    const given: unknown[] = [
      {},
      { found: async () => ({ kind: 'users', users }) },
      {},
      { cityId: async () => 1 },
      { sweep: async () => ({ open: [] }) },
      { closeOthers: () => undefined },
    ];
    const sandboxes = new (SessionSandboxes as unknown as new (...args: unknown[]) => SessionSandboxes)(...given);
    const start = { deployment: 'd', city: 'port', session: 'po-1', generation: '1' };
    const directories = { city, rigRoot: undefined, workDir: city };
    const session = {
      id: 'po-1',
      pk: 1,
      streamId: 1,
      template: { spec: {} },
      config: { workspace: {} },
      places: { cityName: 'port' },
      directories,
      start,
    };
    await expect(sandboxes.of(session as never)).rejects.toMatchObject({ failure: 'aborted' });
    expect(ended).toEqual([[7, start]]);
  });
});

describe('a start behind bubblewrap', () => {
  // Guard: an agent of the city has moved it away, and puts a link to another city there before it is mounted.
  it('is over where a folder that it is to see is gone', async () => {
    const given: unknown[] = [
      { auth: 'on', citiesRoot: path.dirname(city) },
      {
        found: async () => ({ kind: 'bubblewrap', rules: { visible: [] } }),
        changeable: async () => ({ folders: [] }),
        sandbox: () => 'made',
      },
      { home: '/home/nobody', programs: () => [], authorities: () => [] },
      {},
      { sweep: async () => ({ open: [] }) },
      { closeOthers: () => undefined },
    ];
    const sandboxes = new (SessionSandboxes as unknown as new (...args: unknown[]) => SessionSandboxes)(...given);
    const workDir = path.join(city, '.gc/worktrees/x');
    const runtimeDir = path.join(city, '.gc/runtime');
    await Promise.all([workDir, runtimeDir].map((at) => mkdir(at, { recursive: true })));
    const session = {
      id: 'po-1',
      template: { spec: {} },
      config: { workspace: {}, contents: {} },
      places: { cityName: 'port', cityPath: city, citiesRoot: path.dirname(city) },
      directories: { city, rigRoot: undefined, workDir },
      runtimeDir,
    };
    expect(await sandboxes.of(session as never)).toBe('made');
    await rename(workDir, path.join(city, '.gc/worktrees/away'));
    await expect(sandboxes.of(session as never)).rejects.toMatchObject({
      failure: 'not_found',
      message: `${workDir} is not there any more`,
    });
    await symlink(city, workDir);
    await expect(sandboxes.of(session as never)).rejects.toMatchObject({ failure: 'unsupported' });
    await rm(workDir);
    await rename(path.join(city, '.gc/worktrees/away'), workDir);
    const home = path.join(city, '.gc/sessions/po-1/home');
    await rm(home, { recursive: true });
    await symlink('/', home);
    await expect(sandboxes.of(session as never)).rejects.toThrow(`${home} is a link, or lies behind one`);
  });
});

describe('a place to work', () => {
  const start = (place: { workDir: string; rigRoot?: string }): Promise<unknown> => {
    const sweep = (): Promise<never> => Promise.reject(new Error('goes on'));
    const given: unknown[] = [{}, { found: async () => ({ kind: 'bubblewrap' }) }, {}, {}, { sweep }];
    const sandboxes = new (SessionSandboxes as unknown as new (...args: unknown[]) => SessionSandboxes)(...given);
    const directories = { city, rigRoot: undefined, ...place };
    const session = { id: 'po-1', template: { spec: {} }, config: { workspace: {} }, places: { cityName: 'port' }, directories };
    return sandboxes.of(session as never);
  };

  // Guard: whoever may set an agent up, and not say what is run, reads the secrets of a service by it.
  it.each(['', '/services', '/services/web', '/services/web/secrets', '/sessions/po-2', '/runtime/overlays/x', '/cache/removed'])(
    'is never .gc%s',
    async (at) => {
      const wanted = path.join(city, `.gc${at}`);
      const refused = { failure: 'unsupported', message: `no session works in ${wanted}: what is there is the service's` };
      await expect(start({ workDir: wanted })).rejects.toMatchObject(refused);
      await expect(start({ workDir: city, rigRoot: wanted })).rejects.toMatchObject(refused);
    },
  );

  it.each(['', '.gc/worktrees/x', '.gc/runtime', '.gc/agents/x', '.gc/servicesx'])('may be %s', async (at) => {
    await expect(start({ workDir: path.join(city, at) })).rejects.toThrow('goes on');
  });
});

describe('commands behind bubblewrap', () => {
  // Guard: one could put a link where something is about to be mounted for the next.
  it('are told apart from sessions, as those of one owner may run at once', async () => {
    const given: unknown[] = [
      { auth: 'on', citiesRoot: path.dirname(city) },
      {
        found: async () => ({ kind: 'bubblewrap', rules: { visible: [] } }),
        changeable: async () => ({ folders: [] }),
        sandbox: (mounts: Mount[]) => [
          mounts.filter(({ isContested }) => isContested).map(({ at }) => at),
          mounts.filter(({ isKept }) => isKept).map(({ at, from = at }) => path.relative(city, from)),
        ],
      },
      { home: '/home/nobody', programs: () => [], authorities: () => [] },
      {},
      { sweep: async () => ({ open: [] }) },
      { closeOthers: () => undefined },
    ];
    const sandboxes = new (SessionSandboxes as unknown as new (...args: unknown[]) => SessionSandboxes)(...given);
    const runtimeDir = path.join(city, '.gc/runtime');
    const rigRoot = path.join(city, 'rigs/one');
    await Promise.all([rigRoot, runtimeDir].map((at) => mkdir(at, { recursive: true })));
    const place = {
      template: { spec: {} },
      config: { workspace: {}, contents: {} },
      places: { cityName: 'port', cityPath: city, citiesRoot: path.dirname(city) },
      directories: { city, rigRoot, workDir: city },
      runtimeDir,
    };
    const ofAll = ['.gc', '.gc/worktrees', '.gc/runtime', '.gc/runtime/overlays', '.gc/sessions', '.gc/services'];
    expect(await sandboxes.of({ ...place, id: 'po-1' } as never)).toEqual([
      [rigRoot],
      ['.gc/sessions/po-1/home', '.gc/sessions/po-1/tmp', ...ofAll],
    ]);
    const service = { stateRoot: path.join(city, '.gc/services/web'), sockets: path.join(city, '..') };
    await mkdir(service.stateRoot, { recursive: true });
    const around = sandboxes.aroundCommand({ ...place, owner: 'order:x', service } as never, async (sandbox) => sandbox as unknown);
    const its = ['home', 'tmp'].map((at) => `.gc/sessions/@commands/order:x/${at}`);
    expect(await around).toEqual([
      ['/tmp', rigRoot],
      [...its, ...ofAll, '.gc/services/web'],
    ]);
  });
});

describe('a script that runs sessions elsewhere', () => {
  // Guard: whoever writes the city could have the link lead to a file of its own once it was looked at.
  it('is the file that the operator has named, whatever a link in the city leads to later', async () => {
    const [cities, script, link] = ['cities', 'script', 'cities/link'].map((name) => path.join(city, name)) as [string, string, string];
    await mkdir(cities);
    await writeFile(script, '');
    await symlink(script, link);
    const found = async () => ({ kind: 'bubblewrap', rules: { scripts: [script, path.join(cities, 'own')] } });
    const given: unknown[] = [{ citiesRoot: cities }, { found, hostFile: 'host.toml' }];
    const sandboxes = new (SessionSandboxes as unknown as new (...args: unknown[]) => SessionSandboxes)(...given);
    expect(await sandboxes.checkScript(link, undefined)).toBe(script);
    await writeFile(path.join(cities, 'own'), '');
    for (const other of [path.join(cities, 'own'), 'script'])
      await expect(sandboxes.checkScript(other, undefined)).rejects.toThrow('host.toml');
  });
});
