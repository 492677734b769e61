import { mkdtemp, realpath } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { leftFolders } from '../../runtime/preparation/left-folders.js';
import { removeTree } from '../../runtime/preparation/remove-tree.js';

const PREFIX = 'svc-net-';
/** Somebody accepts connections there as long as the folder is in use. */
const ALIVE = 'alive';
/** A folder is not there with its socket at once. */
const YOUNG_MS = 60_000;

export interface SocketFolder {
  readonly path: string;
  /** Removes it with all that is in it. */
  remove(): Promise<void>;
}

/** A folder of this process alone for sockets; their paths have to be short. @param above where it is made */
export async function makeSocketFolder(above = tmpdir()): Promise<SocketFolder> {
  const folder = await mkdtemp(path.join(await realpath(above), PREFIX));
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: path.join(folder, ALIVE), exclusive: true }, resolve);
    });
  } catch (error) {
    await removeTree(folder);
    throw error;
  }
  return {
    path: folder,
    remove: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await removeTree(folder);
    },
  };
}

/**
 * Removes such folders of this user that processes which were killed have left: nobody accepts there any more, also none of another
 * container that has the same folder of temporary files. Answers how many.
 */
export async function sweepSocketFolders(above = tmpdir(), now = Date.now()): Promise<number> {
  let removed = 0;
  for await (const folder of leftFolders({ above, prefix: PREFIX, olderThanMs: YOUNG_MS, now })) {
    if (await answers(path.join(folder, ALIVE))) continue;
    await removeTree(folder);
    removed++;
  }
  return removed;
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const tried = connect(socket);
    tried.once('connect', () => {
      tried.destroy();
      resolve(true);
    });
    // Whatever else keeps one from connecting is no proof that nobody is there.
    tried.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}
