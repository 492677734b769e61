import { mkdtemp, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { AppConfig } from '../platform/config/config.js';

type Named = Pick<AppConfig, 'dataDir' | 'citiesRoot' | 'databaseUrl'>;

/** Errors of a folder that exists and has no room: its place is not the mistake. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Checks that the configured folders can be made, before a recursive `mkdir` is called. Below /proc that never returns: it is told that the parent does not
 * exist, makes that, and tries again, and no signal reaches the process meanwhile.
 *
 * @throws Error naming the variable of the folder that cannot hold files.
 */
export async function checkFolders({ dataDir, citiesRoot, databaseUrl }: Named): Promise<void> {
  await check('SVC_DATA_DIR', dataDir, databaseUrl === undefined);
  await check('SVC_CITIES_ROOT', citiesRoot, false);
}

/** @param always check the folder also when it exists, as for the database */
async function check(variable: string, directory: string, always: boolean): Promise<void> {
  const there = await nearest(resolve(directory));
  if (there === resolve(directory) && !always) return;
  try {
    await rmdir(await mkdtemp(join(there, '.svc-')));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (NO_ROOM.has(code)) return;
    const why = code === 'ENOENT' ? `${there} takes no files` : message;
    throw new Error(`${directory} cannot hold files (${why}); choose another directory with ${variable}`, { cause: error });
  }
}

/** The folder itself, or its nearest parent that exists. */
async function nearest(directory: string): Promise<string> {
  const found = await stat(directory).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
  return found || dirname(directory) === directory ? directory : nearest(dirname(directory));
}
