import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';

/** Numbers of the system. */
export interface Identity {
  readonly user: number;
  readonly group: number;
}

/** The first folder on the way to a file, or the file itself, that somebody may not use by its mode; undefined when all is open. */
export async function closedFor(file: string, identity: Identity): Promise<string | undefined> {
  const real = await realpath(file).catch(() => file);
  const steps = [real];
  for (let at = real; at !== path.dirname(at); steps.unshift(at)) at = path.dirname(at);
  for (const at of steps) {
    const found = await stat(at).catch(() => undefined);
    if (found === undefined) return at;
    const mine = found.uid === identity.user ? 0o100 : found.gid === identity.group ? 0o010 : 0o001;
    if ((found.mode & mine) === 0) return at;
  }
  return undefined;
}
