import { StartError } from '../runtime/port.js';
import { identityOf } from './held.js';
import type { Mount } from './mounts.js';

/**
 * Folders of a city, whose agents may put a link in the place of one before it is mounted: another city would lie behind it. One that is not
 * there now may be such a link by then.
 *
 * @throws StartError unsupported where one is a link already, not_found where one is gone
 */
export async function identified(mounts: readonly Mount[]): Promise<Mount[]> {
  return Promise.all(
    mounts.map(async (mount) => (mount.mode === 'hidden' ? mount : { ...mount, identity: await knownFolder(mount.from ?? mount.at) })),
  );
}

async function knownFolder(folder: string): Promise<string> {
  return identityOf(folder).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new StartError('not_found', `${folder} is not there any more`, '', { cause });
  });
}
