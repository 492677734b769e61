import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { covers } from '../../../platform/isolation/mounts.js';
import type { Identity } from '../../../platform/isolation/reach.js';
import { give, pass, share, type Share } from '../../../platform/isolation/shared-folders.js';
import type { Users } from '../../../platform/isolation/users.js';
import type { ServicePlace } from './service-place.js';
import { WORKTREES, type Directories } from './work-dir.js';

/** Folders that belong to the group of their city: what is made in them does as well. */
const [READ, WRITE, ADD] = [0o2750, 0o2770, 0o3770];

export interface SessionTrees {
  readonly citiesRoot: string;
  readonly directories: Directories;
  readonly runtimeDir: string;
  /** Directories of the city's packs. Real paths. */
  readonly packs: readonly string[];
  /** The folder of the session's own; what is no session's has none in the city. */
  readonly own?: string;
}

/**
 * Opens the directories of a city for its group as far as a session needs them. In the city's own directory agents add to what is there
 * (its files, and those of others there, they neither write nor remove); working copies and rigs are theirs.
 *
 * @throws StartError
 */
export async function openTrees(users: Users, { user, group }: Identity, trees: SessionTrees): Promise<void> {
  const { citiesRoot, packs, own } = trees;
  const { city, rigRoot, workDir } = trees.directories;
  const inside = (...at: string[]): string => path.join(city, '.gc', ...at);
  const isAgents = (id: number): boolean => users.isSession(id);
  const files = { group, isAgents };
  const write: Share = { ...files, folders: WRITE, files: 0o770 };
  const [service, its] = [process.getuid!(), process.getgid!()];
  await share(city, { ...files, folders: READ, files: 0o750, top: workDir === city ? ADD : READ, without: ['.gc'] });
  // Before somebody else could put something in their place.
  await Promise.all([path.join(city, WORKTREES), inside('runtime', 'overlays')].map((at) => mkdir(at, { recursive: true })));
  await give(inside(), service, group, READ);
  await give(inside('runtime'), service, group, ADD);
  await give(inside('runtime', 'overlays'), service, its, 0o700);
  await share(path.join(city, WORKTREES), write);
  for (const at of new Set([workDir, ...(rigRoot === undefined ? [] : [rigRoot])])) if (at !== city) await share(at, write);
  if (own !== undefined) {
    for (const at of ['home', 'tmp']) await give(path.join(own, at), user, group, 0o2700);
    await give(path.dirname(own), service, its, 0o711);
    await give(own, user, group, 0o700);
  }
  for (const at of packs) if (covers(citiesRoot, at)) await share(at, { folders: 0o755, files: 0o755, isAgents });
  for (const at of [city, ...(rigRoot === undefined ? [] : [rigRoot]), ...packs])
    for (const between of onTheWay(citiesRoot, at)) if (!covers(city, between)) await pass(between);
}

/** Lets whoever runs a service write what it keeps, in the group of its city, and make sockets where this process finds them. */
export async function openService(users: Users, group: number, city: string, service: ServicePlace): Promise<void> {
  const own = process.getuid!();
  const isAgents = (id: number): boolean => users.isSession(id);
  for (let at = path.dirname(service.stateRoot); at !== path.join(city, '.gc') && covers(city, at); at = path.dirname(at))
    await give(at, own, group, READ);
  await share(service.stateRoot, { group, isAgents, folders: WRITE, files: 0o770 });
  await give(service.sockets, own, group, 0o770);
}

/** Folders between two of which one lies below the other. */
function onTheWay(from: string, to: string): string[] {
  if (!covers(from, to)) return [];
  const found: string[] = [];
  for (let at = path.dirname(to); at !== from && covers(from, at); at = path.dirname(at)) found.unshift(at);
  return found;
}
