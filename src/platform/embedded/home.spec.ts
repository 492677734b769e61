import { chmod, mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { canEnter, chooseAccount, type Account } from './account.js';
import { readPassword } from './cluster.js';
import { makeWay, prepareHome } from './home.js';

let base: string;
const modesOf = (...names: string[]): Promise<string[]> =>
  Promise.all(names.map(async (name) => ((await stat(join(base, name))).mode & 0o777).toString(8)));

/** What the account of a server is where this runs as root; elsewhere nobody but oneself can be asked. */
const own: Account = { name: 'own', uid: process.getuid!(), gid: process.getgid!() };
const anAccount = async (): Promise<Account> => (await chooseAccount(join(base, 'none'), undefined)) ?? own;

/** With the mask of new files of a hardened host. */
async function masked<T>(work: () => Promise<T>): Promise<T> {
  const before = process.umask(0o027);
  try {
    return await work();
  } finally {
    process.umask(before);
  }
}

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'svc-home-')));
  await chmod(base, 0o751);
});
afterEach(() => rm(base, { recursive: true }));

describe('the folder of the database', () => {
  it('can be entered by the account of the server, whatever mask new files have', async () => {
    const account = await anAccount();
    const elsewhere: string[] = [];
    const home = await masked(async () => {
      await makeWay(join(base, 'own/data'), account);
      return prepareHome(join(base, 'own/data'), account, (what) => elsewhere.push(what), join(base, 'system'));
    });
    expect([elsewhere, home.directory]).toEqual([[], join(base, 'own/data/postgres')]);
    expect(await modesOf('.', 'own', 'own/data', 'own/data/postgres')).toEqual(['751', '755', '755', '700']);
    expect(canEnter(account, home.directory)).toBe(true);
  });

  it('lies elsewhere when the account cannot enter the data directory, and can be entered there', async () => {
    const account = await anAccount();
    await mkdir(join(base, 'data'), { mode: 0o700 });
    const told: string[] = [];
    const home = await masked(() => prepareHome(join(base, 'data'), account, (what) => told.push(what), join(base, 'var/system')));
    expect(canEnter(account, home.directory)).toBe(true);
    expect(await modesOf('data')).toEqual(['700']);
    // Who runs as oneself enters one's own.
    if (account === own) return expect(home.directory).toBe(join(base, 'data/postgres'));
    expect(home.directory).toMatch(/\/var\/system\//);
    expect(told.join()).toContain(`in ${home.directory}: the account that it runs as, "${account.name}", could not enter ${base}/data`);
    expect(await modesOf('var', 'var/system')).toEqual(['755', '755']);
  });

  // Guard: a new database would be made beside the only copy of the old one.
  it.each([
    ['after', true, 'far'],
    ['before', false, 'data/postgres'],
  ])('is found again where a move was cut off %s the folder had gone from its place', async (_, gone, where) => {
    await mkdir(join(base, 'far'));
    await mkdir(join(base, 'data', gone ? 'postgres.moved' : 'postgres'), { recursive: true });
    await symlink(join(base, 'far'), join(base, 'data/postgres.new'));
    const home = await prepareHome(join(base, 'data'), undefined);
    expect([home.directory, await readdir(join(base, 'data'))]).toEqual([join(base, where), ['postgres']]);
  });

  it('leaves the mask to those whose server runs as themselves', async () => {
    await masked(() => makeWay(join(base, 'data'), undefined));
    expect(await modesOf('data')).toEqual(['750']);
  });
});

// Guard: another one takes the place of it, with which each start waits for a minute and then ends with words of PostgreSQL about `svc`.
describe('the password of the database', () => {
  const home = (): { directory: string; account: undefined } => ({ directory: base, account: undefined });

  it('is made once', async () => {
    const made = await readPassword(home());
    expect(made).toMatch(/^[\w-]{32}$/);
    expect(await readPassword(home())).toBe(made);
    expect(await modesOf('password')).toEqual(['600']);
  });

  it('is not made anew for a database that has one', async () => {
    await mkdir(join(base, 'data'));
    await writeFile(join(base, 'data/PG_VERSION'), '18\n');
    await expect(readPassword(home())).rejects.toThrow(`is gone from ${base}/password: put it back`);
    await writeFile(join(base, 'password'), '\n');
    await expect(readPassword(home())).rejects.toThrow('is gone from');
    await rm(join(base, 'password'));
    await mkdir(join(base, 'password'));
    await expect(readPassword(home())).rejects.toThrow('EISDIR');
    expect(await readdir(base)).toEqual(['data', 'password']);
  });
});
