import { StartError } from '../runtime/port.js';
import { identityOf, openAgain } from './held.js';
import type { Mount } from './mounts.js';

/**
 * Folders of a city, whose agents may put a link in the place of one before it is mounted: another city would lie behind it. One that is not
 * there now may be such a link by then.
 *
 * @throws StartError unsupported where one is a link already, not_found where one is gone
 */
export async function identified(mounts: readonly Mount[]): Promise<Mount[]> {
  return Promise.all(mounts.map(async (mount) => (mount.mode === 'hidden' ? mount : { ...mount, identity: await knownFolder(mount) })));
}

async function knownFolder({ at, from: folder = at, isOwn }: Mount): Promise<string> {
  try {
    if (isOwn) await openAgain(folder);
    return await identityOf(folder);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new StartError('not_found', `${folder} is not there any more`, '', { cause });
  }
}
