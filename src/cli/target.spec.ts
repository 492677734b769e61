import { afterEach, describe, expect, it } from '@jest/globals';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeServerFile } from '../platform/embedded/server-file.js';
import { resolveTarget, type Target } from './target.js';
import { fakeIo } from './testing/io.js';

const SERVER = 'http://127.0.0.1:4711';
const DEFAULT = 'http://127.0.0.1:8372';
const closing: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A directory with a data directory, in which a server of this machine has written where it is. */
async function served(url = SERVER): Promise<{ dir: string; file: string; data: string }> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-target-')));
  closing.push(() => rmSync(dir, { recursive: true }));
  const data = join(dir, '.svc');
  await writeServerFile(data, url);
  writeFileSync(join(data, 'admin.key'), 'svc_admin\n');
  return { dir, data, file: join(data, 'server.json') };
}

const target = (cwd: string, env: Record<string, string> = {}): Target => resolveTarget({}, fakeIo({ cwd, env }));

describe('a data directory that is found from the working directory upwards', () => {
  it.each(['SVC_API_KEY', 'SVC_SESSION_TOKEN'])('does not get what %s holds, unless it knows it', async (name) => {
    const { dir, data, file } = await served();
    const why = `${name} is not sent to ${SERVER}, which only ${file} names: if it is for that server, set SVC_API_URL=${SERVER}`;
    expect(() => target(dir, { [name]: 'svc_own' })).toThrow(why);
    expect(target(dir, { [name]: 'svc_own', SVC_API_URL: SERVER })).toMatchObject({ url: SERVER, key: 'svc_own' });
    expect(target(dir, { [name]: 'svc_own', SVC_DATA_DIR: data })).toMatchObject({ url: SERVER, key: 'svc_own' });
    expect(target(dir, { [name]: 'svc_admin' })).toMatchObject({ url: SERVER, key: 'svc_admin' });
    expect(target(dir)).toMatchObject({ url: SERVER, key: 'svc_admin' });
  });

  it('gets the key of SVC_KEY_FILE as it gets that of SVC_API_KEY, which wins', async () => {
    const { dir } = await served();
    writeFileSync(join(dir, 'own.key'), 'svc_own\n');
    const env = { SVC_KEY_FILE: 'own.key' };
    expect(() => target(dir, env)).toThrow(`SVC_KEY_FILE is not sent to ${SERVER}`);
    expect(target(dir, { ...env, SVC_API_URL: SERVER })).toMatchObject({ url: SERVER, key: 'svc_own' });
    expect(target(dir, { ...env, SVC_API_URL: SERVER, SVC_API_KEY: 'svc_other' })).toMatchObject({ key: 'svc_other' });
    expect(() => target(dir, { SVC_KEY_FILE: 'none.key' })).toThrow('SVC_KEY_FILE: cannot read none.key');
  });

  it.each([
    ['link', symlinkSync],
    ['second name', linkSync],
  ])('does not know a key of which it has a %s', async (_what, link) => {
    const { dir, data } = await served();
    const real = join(dir, 'real.key');
    renameSync(join(data, 'admin.key'), real);
    link(real, join(data, 'admin.key'));
    expect(target(dir)).toMatchObject({ url: SERVER, key: undefined });
    expect(resolveTarget({ api: SERVER }, fakeIo({ cwd: dir }))).toMatchObject({ url: SERVER, key: undefined });
    for (const name of ['SVC_API_KEY', 'SVC_SESSION_TOKEN'])
      expect(() => target(dir, { [name]: 'svc_admin' })).toThrow(`${name} is not sent to ${SERVER}`);
    expect(resolveTarget({ keyFile: real }, fakeIo({ cwd: dir }))).toMatchObject({ url: SERVER, key: 'svc_admin' });
    expect(target(dir, { SVC_DATA_DIR: data })).toMatchObject({ url: SERVER, key: 'svc_admin' });
  });

  it('counts only with the birth of its process, which nobody knows who wrote it elsewhere', async () => {
    const { dir, file } = await served();
    writeFileSync(file, JSON.stringify({ url: SERVER, pid: 1 }));
    expect(target(dir, { SVC_API_KEY: 'svc_own' })).toMatchObject({ url: DEFAULT, key: 'svc_own' });
  });

  it('leads to this machine alone', async () => {
    const { dir, file } = await served('https://svc.example');
    expect(target(dir, { SVC_API_KEY: 'svc_own' })).toMatchObject({
      url: DEFAULT,
      key: 'svc_own',
      source: `the default; ${file} is not used, it leads to another machine`,
    });
    const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    for (const { address } of own.filter(({ family }) => family === 'IPv4')) {
      await writeServerFile(join(dir, '.svc'), `http://${address}:1`);
      expect(target(dir).url).toBe(`http://${address}:1`);
    }
  });

  it('leads to this machine also by its own name', async () => {
    const { dir } = await served(`http://${hostname()}:1`);
    expect(target(dir)).toMatchObject({ url: `http://${hostname().toLowerCase()}:1`, key: undefined });
  });

  it('is passed over in the directory of a city, and below, for the next one above', async () => {
    const { dir, data } = await served();
    const city = join(data, 'cities', 'alpha');
    const rig = join(city, 'rigs', 'web');
    for (const below of [city, rig]) await writeServerFile(join(below, '.svc'), 'http://127.0.0.1:666');
    writeFileSync(join(city, 'city.toml'), '');
    for (const below of [city, rig]) expect(target(below)).toMatchObject({ url: SERVER, key: 'svc_admin' });

    writeFileSync(join(dir, 'city.toml'), '');
    expect(target(city)).toMatchObject({ url: DEFAULT, source: expect.stringContaining('it lies in the directory of a city') });
    expect(target(city, { SVC_DATA_DIR: data })).toMatchObject({ url: SERVER, key: 'svc_admin' });
  });
});

it('finds the server of a data directory that is named also by a name, whose first key it does not show', async () => {
  const { dir, data, file } = await served('http://svc.test:4711');
  const found = { url: 'http://svc.test:4711', key: undefined, source: `found in ${file}` };
  expect(target(dir, { SVC_DATA_DIR: data })).toMatchObject(found);
  expect(target(dir, { SVC_DATA_DIR: data, SVC_API_KEY: 'svc_own' })).toMatchObject({ ...found, key: 'svc_own' });
  // A name that counts from the working directory is one of any repository, too.
  const passed = { url: DEFAULT, source: `the default; ${file} is not used, it leads to another machine` };
  expect(target(dir, { SVC_DATA_DIR: '.svc', SVC_API_KEY: 'svc_own' })).toMatchObject({ ...passed, key: 'svc_own' });
  expect(target(dir, { SVC_DATA_DIR: '.svc' })).toMatchObject({ ...passed, key: undefined });
});

describe('the first key of a data directory', () => {
  it('is not for whoever listens at the default address once its server does not run', async () => {
    const { dir, data, file } = await served();
    const ended = JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), birth: 'another life' });
    writeFileSync(file, ended);
    expect(target(dir)).toMatchObject({ url: DEFAULT, key: undefined });
    expect(target(dir, { SVC_DATA_DIR: data })).toMatchObject({ url: DEFAULT, key: undefined });
    rmSync(file);
    expect(target(dir)).toMatchObject({ url: DEFAULT, key: undefined });
  });

  it('is not for whoever listens there while the server of a directory that is named may be elsewhere', async () => {
    const { dir, data, file } = await served();
    chmodSync(file, 0o666);
    const source = `the default; ${file} is not used, another user may write it`;
    expect(target(dir, { SVC_DATA_DIR: data })).toMatchObject({ url: DEFAULT, key: undefined, source });
  });

  it('is for it where the directory is named and holds no word of a server, as in a container', async () => {
    const { dir, data, file } = await served();
    rmSync(file);
    mkdirSync(join(dir, 'below'));
    expect(target(join(dir, 'below'), { SVC_DATA_DIR: data })).toMatchObject({ url: DEFAULT, key: 'svc_admin' });
  });
});
