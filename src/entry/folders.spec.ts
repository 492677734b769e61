import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkFolders } from './folders.js';

describe('the folders of a start', () => {
  let root: string;
  beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'folders-'))));
  afterEach(() => rm(root, { recursive: true }));

  const checked = (dataDir: string, citiesRoot = join(dataDir, 'cities'), databaseUrl?: string): Promise<void> =>
    checkFolders({ dataDir, citiesRoot, databaseUrl });

  it('may be there, or be made, and nothing is left of the look', async () => {
    await checked(root);
    await checked(join(root, 'new', 'below'));
    expect(await readdir(root)).toEqual([]);
  });

  it('have to be where files can be', async () => {
    // Where a recursive mkdir goes round for ever.
    await expect(checked('/proc/nowhere/below')).rejects.toThrow(
      '/proc/nowhere/below cannot hold files (/proc takes no files); choose another directory with SVC_DATA_DIR',
    );
    await expect(checked(root, '/proc/nowhere', 'postgres://db')).rejects.toThrow('another directory with SVC_CITIES_ROOT');
    await writeFile(join(root, 'file'), '');
    await expect(checked(join(root, 'file', 'below'))).rejects.toThrow('ENOTDIR');
  });

  it('are written only where the database is in them', async () => {
    await expect(checked('/proc', root)).rejects.toThrow('/proc cannot hold files');
    await checked('/proc', root, 'postgres://db');
  });
});
