import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { folder, removeFolders } from '../../../test/support/folders.js';
import type { AppConfig } from '../../platform/config/config.js';
import { backUp } from './backing-up.js';
import { withClient } from './programs.js';

let database: TestDatabase;
let home: string;
const { PATH } = process.env;
beforeEach(async () => {
  database = await emptyDatabase();
  home = await folder('svc-beside-');
  await withClient(database.url, (client) =>
    client.query('create table cities (dir text); create table api_keys (revoked_at timestamptz)'),
  );
  const program = join(home, 'pg_dump');
  await writeFile(
    program,
    `#!/bin/sh
test "$1" = --version && echo "pg_dump (PostgreSQL) 1000" && exit
for arg; do case "$arg" in --file=*) echo all of it > "\${arg#*=}";; esac; done
`,
  );
  await chmod(program, 0o755);
  process.env.PATH = `${home}:${PATH}`;
});
afterEach(async () => {
  process.env.PATH = PATH;
  await database.drop();
  await removeFolders();
});

const at = (...parts: string[]): string => join(home, ...parts);
/** With the folders of this data directory. */
const backedUp = (data: string): Promise<string> => {
  const config = { databaseUrl: database.url, dataDir: at(data), citiesRoot: at(data, 'cities') } as AppConfig;
  return backUp(config, at('monday.tgz'), false, () => undefined);
};
const known = (...dirs: string[]): Promise<unknown> =>
  withClient(database.url, (client) => client.query('insert into cities select unnest($1::text[])', [dirs]));

// Guard: a backup without the files of its cities is none, and nobody sees that before it is restored.
it('is refused with the folders of another service, before anything is copied', async () => {
  await mkdir(at('other', 'cities'), { recursive: true });
  await known(at('data/cities/alpha'), at('data/cities/beta'), at('other/cities-of-old'));
  for (const data of ['other', 'nowhere'])
    await expect(backedUp(data)).rejects.toThrow(
      `none of the cities that the database knows (3, such as ${at('data/cities/alpha')}) lies in ${at(data, 'cities')}: name the data directory with --data-dir`,
    );
  await expect(backedUp('data')).rejects.toThrow(`${at('data/cities')} is not there, where the database has its cities (3)`);
  expect((await readdir(home)).filter((name) => name.includes('backup') || name.endsWith('.tgz'))).toEqual([]);
});

// Guard: the same paths lead to nothing on another machine, and where the disk with the cities is not mounted.
it('is refused where the folder of the cities has none of them', async () => {
  await mkdir(at('data/cities/of-another'), { recursive: true });
  await known(at('data/cities/alpha'), at('data/cities/beta'));
  const refused = `none of the cities that the database knows in ${at('data/cities')} is there (${at('data/cities/alpha')})`;
  await expect(backedUp('data')).rejects.toThrow(refused);
  await mkdir(at('data/cities/beta'));
  expect(await backedUp('data')).toContain(`1 of 2 cities are not in it, as their folders are gone, such as ${at('data/cities/alpha')}`);
});

it('says what it has, and what is not in it', async () => {
  expect(await backedUp('data')).toBe(`${at('monday.tgz')}: the database, 0.1 MB`);
  await mkdir(at('data/cities/alpha'), { recursive: true });
  await known(at('data/cities/alpha'), '/srv/elsewhere');
  await withClient(database.url, (client) => client.query('insert into api_keys values (null)'));
  const has = `${at('monday.tgz')}: the database and the cities of ${at('data/cities')}, 0.1 MB`;
  expect(await backedUp('data')).toBe(
    `${has}; 1 of 2 cities are elsewhere and not in it, such as /srv/elsewhere; the first key is not in it: there is no ${at('data/admin.key')}`,
  );
  await writeFile(at('data/admin.key'), 'svc_x');
  await withClient(database.url, (client) => client.query(`delete from cities where dir = '/srv/elsewhere'`));
  expect(await backedUp('data')).toBe(has);
});

it('asks nothing of a database that is not yet one of a service', async () => {
  await withClient(database.url, (client) => client.query('drop table cities'));
  expect(await backedUp('data')).toContain('the database, ');
});
