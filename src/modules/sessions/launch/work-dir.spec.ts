import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StartError } from '../../../platform/runtime/port.js';
import type { Template } from './launch.js';
import { checkWritable, makeRuntimeDirectory, workDirectory, type Directories, type Places } from './work-dir.js';

let root: string;
let city: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'work-dir-')));
  city = path.join(root, 'cities', 'harbor');
  await mkdir(path.join(city, 'rigs/web'), { recursive: true });
  await mkdir(path.join(root, 'outside'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

function find(workDir?: string, rig?: string, name = 'web/worker-1', more: Partial<Places> = {}): Promise<Directories> {
  const template = { agent: workDir === undefined ? {} : { work_dir: workDir } } as unknown as Template;
  const places = {
    cityName: 'harbor',
    cityPath: city,
    citiesRoot: path.join(root, 'cities'),
    rig: rig === undefined ? undefined : { name: 'web', path: rig },
    ...more,
  };
  return workDirectory(template, name, places);
}

async function refused(work: Promise<unknown>): Promise<{ failure: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StartError)) throw new Error(`no StartError: ${String(error)}`);
  return { failure: error.failure, message: error.message };
}

describe('the working directory', () => {
  it('is the city, the rig, or what the agent says', async () => {
    expect(await find()).toEqual({ city, rigRoot: undefined, workDir: city });
    const web = path.join(city, 'rigs/web');
    expect(await find(undefined, 'rigs/web')).toEqual({ city, rigRoot: web, workDir: web });
    expect((await find('deep/er', 'rigs/web')).workDir).toBe(path.join(city, 'deep/er'));
    expect((await find('{{.RigRoot}}/trees/{{ .AgentBase }}', 'rigs/web')).workDir).toBe(path.join(web, 'trees/worker-1'));
    expect((await find('{{.WorktreesRoot}}/{{.Agent}}')).workDir).toBe(path.join(city, '.gc/worktrees/web/worker-1'));
    expect((await find('{{.CityRoot}}/{{.CityName}}-{{.Rig}}', 'rigs/web')).workDir).toBe(path.join(city, 'harbor-web'));
    expect((await stat(path.join(web, 'trees/worker-1'))).isDirectory()).toBe(true);
  });

  it('may lie in a rig elsewhere below the cities root', async () => {
    const rig = path.join(root, 'cities/shared');
    await mkdir(rig);
    expect((await find('{{.RigRoot}}/x', rig)).workDir).toBe(path.join(rig, 'x'));
    expect(await refused(find('../shared/x', 'rigs/web'))).toMatchObject({ failure: 'unsupported' });
  });

  it('may lie in a rig that the operator allows, as long as it is the city’s', async () => {
    const rig = path.join(root, 'outside');
    const allowedPaths = [rig];
    expect((await find('{{.RigRoot}}/x', rig, 'web/worker-1', { allowedPaths })).workDir).toBe(path.join(rig, 'x'));
    const isOthers = (): Promise<boolean> => Promise.resolve(true);
    expect((await refused(find(undefined, rig, 'web/worker-1', { allowedPaths, isOthers }))).message).toMatch(/belongs to another city/);
    expect((await refused(find(undefined, rig))).message).toMatch(/outside the cities directory, and where no rig may lie/);
  });

  it.each(['..', '../..', '/etc', '/', '{{.CityRoot}}/../other', 'rigs/../../x', '../../outside'])(
    'is refused outside: %s',
    async (written) => {
      expect(await refused(find(written, 'rigs/web'))).toMatchObject({
        failure: 'unsupported',
        message: expect.stringContaining('outside'),
      });
    },
  );

  it('is refused behind links that lead outside, and nothing is made there', async () => {
    await symlink(path.join(root, 'outside'), path.join(city, 'link'));
    await symlink('nowhere', path.join(city, 'dangling'));
    await symlink('loop', path.join(city, 'loop'));
    expect(await refused(find('link/new'))).toMatchObject({ failure: 'unsupported', message: expect.stringContaining('outside') });
    await expect(stat(path.join(root, 'outside/new'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await refused(find('dangling/x'))).failure).toBe('unsupported');
    expect((await refused(find('loop/x'))).failure).toBe('unsupported');
    await symlink(path.join(root, 'outside'), path.join(city, 'rigs/evil'));
    expect((await refused(find(undefined, 'rigs/evil'))).failure).toBe('unsupported');
  });

  it('follows links inside', async () => {
    await symlink('rigs/web', path.join(city, 'short'));
    expect((await find('short/x')).workDir).toBe(path.join(city, 'rigs/web/x'));
  });

  it.each([
    ['{{.Nothing}}', /unknown variable \{\{\.Nothing\}\}/],
    ['{{if .Rig}}x{{end}}', /more than variables/],
    ['a\0b', /characters/],
    ['x/'.repeat(40), /deep/],
    // The disk, which would say that `file` is no directory, is asked for no path of very many parts.
    [`file${'/x'.repeat(2_000)}`, /its path has more than 128 parts/],
    ['file/below', /ENOTDIR/],
  ])('is refused: %j', async (written, message) => {
    await writeFile(path.join(city, 'file'), '');
    expect(await refused(find(written))).toMatchObject({ failure: 'unsupported', message: expect.stringMatching(message) });
  });

  it('says that a city is on a file system that has become read-only', async () => {
    await checkWritable(city, 'harbor');
    const readOnly = (): Promise<void> => Promise.reject(Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' }));
    expect(await refused(checkWritable(city, 'harbor', readOnly))).toEqual({
      failure: 'timeout',
      message: `the directory of the city harbor cannot be written by the service: EROFS, ${city}`,
    });
  });

  it('is not there when the city or the rig is not', async () => {
    expect((await refused(find(undefined, 'rigs/gone'))).message).toMatch(/rig web cannot be used: it is not there/);
    await rm(city, { recursive: true });
    expect((await refused(find())).failure).toBe('not_found');
  });

  it('is refused in a worktree whose repository is gone', async () => {
    await writeFile(path.join(city, 'rigs/web/.git'), 'gitdir: ../../gone/.git/worktrees/web\n');
    expect((await refused(find('{{.RigRoot}}/sub', 'rigs/web'))).message).toMatch(/git worktree whose repository is gone/);
    await mkdir(path.join(city, 'gone/.git/worktrees/web'), { recursive: true });
    expect((await find('{{.RigRoot}}/sub', 'rigs/web')).workDir).toBe(path.join(city, 'rigs/web/sub'));
  });
});

// Guard: who opens a pipe for reading waits for somebody who writes, in one of the four threads of the process.
it('waits for nobody where an agent has made a pipe of the name of a repository', async () => {
  execFileSync('mkfifo', [path.join(city, 'rigs/web/.git')]);
  expect((await find('{{.RigRoot}}/sub', 'rigs/web')).workDir).toBe(path.join(city, 'rigs/web/sub'));
});

it('the runtime directory is made', async () => {
  expect(await makeRuntimeDirectory(city)).toBe(path.join(city, '.gc/runtime'));
});
