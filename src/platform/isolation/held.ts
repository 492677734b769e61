import { constants } from 'node:fs';
import { chmod, open, readlink, type FileHandle } from 'node:fs/promises';
import { StartError } from '../runtime/port.js';
import { FOLDER } from '../runtime/preparation/held-folder.js';

/** How a file is opened: through no link, and nothing is waited for. */
export const FILE = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
/** How something is looked at without being opened for reading: O_PATH, which Node has no name for. */
const NAMED = 0o10000000 | constants.O_NOFOLLOW;

/** A folder, opened where it lies. @throws StartError unsupported when it is a link, or lies behind one */
export async function heldAt(directory: string): Promise<FileHandle> {
  const handle = await open(directory, FOLDER).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' || error.code === 'ENOTDIR' ? behindLink(directory) : error;
  });
  if ((await readlink(`/proc/self/fd/${handle.fd}`)) === directory) return handle;
  await handle.close();
  throw behindLink(directory);
}

/**
 * Which folder lies there, by a number that no other one has meanwhile.
 *
 * @throws StartError unsupported when it is a link, or lies behind one
 */
export async function identityOf(directory: string): Promise<string> {
  const handle = await heldAt(directory);
  try {
    const { dev, ino } = await handle.stat({ bigint: true });
    return `${dev}:${ino}`;
  } finally {
    await handle.close();
  }
}

/** The same of anything: a file, a socket. @throws StartError as `identityOf` */
export async function identityAt(at: string): Promise<string> {
  const handle = await open(at, NAMED);
  try {
    const found = await handle.stat({ bigint: true });
    if (found.isSymbolicLink() || (await readlink(`/proc/self/fd/${handle.fd}`)) !== at) throw behindLink(at);
    return `${found.dev}:${found.ino}`;
  } finally {
    await handle.close();
  }
}

/**
 * Gives the owner of a folder back what it may there, where the agent whose home it is has taken that away: an agent is the service's user.
 *
 * @throws StartError unsupported where the folder is a link, lies behind one, or is somebody else's, not_found where it is gone
 */
export async function openAgain(directory: string): Promise<void> {
  const handle = await open(directory, NAMED).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause;
    throw new StartError('not_found', `${directory} is not there any more`, '', { cause });
  });
  try {
    const found = await handle.stat();
    if ((await readlink(`/proc/self/fd/${handle.fd}`)) !== directory || !found.isDirectory()) throw behindLink(directory);
    if ((found.mode & constants.S_IRWXU) === constants.S_IRWXU) return;
    await chmod(`/proc/self/fd/${handle.fd}`, (found.mode & 0o7777) | constants.S_IRWXU).catch((cause: unknown) => {
      throw new StartError('unsupported', `${directory} is closed; open it: chmod u+rwx '${directory.replaceAll("'", `'\\''`)}'`, '', {
        cause,
      });
    });
  } finally {
    await handle.close();
  }
}

function behindLink(directory: string): StartError {
  return new StartError('unsupported', `${directory} is a link, or lies behind one`);
}
