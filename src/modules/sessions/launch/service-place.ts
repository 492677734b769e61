import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Mount } from '../../../platform/isolation/mounts.js';
import { StartError } from '../../../platform/runtime/port.js';
import { makeInside, type Directories } from './work-dir.js';

/** What a service has beside what commands of its city have: it goes on, and is called from outside. */
export interface ServicePlace {
  /** In the city: its own, and writable for it. */
  readonly stateRoot: string;
  /** A folder of this host that is empty, and its own meanwhile. */
  readonly sockets: string;
}

/** In the city's directory: what services keep. */
export const SERVICES = '.gc/services';
/** Where a service sees its folder for sockets: paths of sockets are short. */
export const SOCKETS = '/run/svc-service';
const FOLDERS = { data: 0o750, run: 0o750, logs: 0o750, secrets: 0o700 } as const;

/**
 * Makes the folders that a service keeps its state in.
 *
 * @throws StartError unsupported when they would lie elsewhere
 */
export async function makeStateRoot({ city }: Directories, written: string): Promise<string> {
  const all = path.join(city, SERVICES);
  const wanted = path.resolve(city, written);
  const made = await makeInside(wanted, [all]);
  if (made !== wanted) throw new StartError('unsupported', `${wanted} is a link, or lies behind one`);
  for (const [name, mode] of Object.entries(FOLDERS)) {
    await mkdir(path.join(made, name), { recursive: true, mode });
    await makeInside(path.join(made, name), [made]);
  }
  return made;
}

/** What a service sees beside what commands of its city do. */
export function mountsOfService(service: ServicePlace | undefined): Mount[] {
  if (service === undefined) return [];
  // One that lies deeper may lie in another one's.
  const isAmongAll = path.dirname(service.stateRoot).endsWith(path.sep + SERVICES);
  return [
    { at: service.stateRoot, mode: 'write', ...(isAmongAll && { isKept: true }) },
    { at: SOCKETS, mode: 'write', from: service.sockets },
  ];
}
