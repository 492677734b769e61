import { hostname, networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { readServerFile, serverFilePath } from '../platform/embedded/server-file.js';
import { enclosingCity } from './enclosing-city.js';

/** What the data directories say that a command may belong to. */
export interface LocalServer {
  /** The first whose server runs. */
  readonly found?: { readonly url: URL; readonly dataDir: string; readonly file: string };
  /** Why one before it does not count. */
  readonly passed?: string;
  /** Whether the server of one has ended without a word: somebody else may listen where it did. */
  readonly gone?: boolean;
}

const DATA_DIR = '.svc';

/**
 * The server of the data directory that is named, else of the nearest `.svc` upwards. Whoever may write to a folder may lay a file there that
 * looks like a server's: one that came with a repository, or that an agent has written in its city, is none. One that is named is its owner's,
 * whose server may listen at a name (`SVC_HOST`) that nobody can tell from another machine's; but with `isSure` alone, since a name that counts
 * from the working directory is that of any repository, too.
 */
export function localServer(cwd: string, named: string | undefined, isSure: boolean): LocalServer {
  let passed: string | undefined;
  let gone = false;
  for (const dataDir of named === undefined ? upwards(cwd).map((dir) => join(dir, DATA_DIR)) : [named]) {
    const file = serverFilePath(dataDir);
    const said = readServerFile(dataDir);
    if (said === undefined) continue;
    if (said === 'gone') gone = true;
    else if (said === 'foreign') passed ??= `${file} is not used, another user may write it`;
    else if (named === undefined && enclosingCity(dirname(dataDir)) !== undefined)
      passed ??= `${file} is not used, it lies in the directory of a city, where agents write`;
    else {
      const url = URL.parse(said.url);
      if (url !== null && ((named !== undefined && isSure) || isOfThisMachine(url)))
        return { found: { url, dataDir, file }, ...(passed === undefined ? {} : { passed }) };
      passed ??= `${file} is not used, it leads to another machine`;
    }
  }
  return { ...(passed === undefined ? {} : { passed }), gone };
}

export function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(url.hostname);
}

/** A server that listens at one address of the network alone (`SVC_HOST`) writes that one, or this machine's name. */
function isOfThisMachine(url: URL): boolean {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isLoopback(url) || host === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host));
}

function upwards(from: string): string[] {
  const above = dirname(from);
  return above === from ? [from] : [from, ...upwards(above)];
}
