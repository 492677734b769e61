import { constants } from 'node:fs';
import { access, lstat, mkdir, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { FILE } from '../../../platform/isolation/held.js';
import { StartError } from '../../../platform/runtime/port.js';
import { errnoOf, hasTooManyParts, isBelow, MOST_PARTS } from '../../files/composition/trees/paths.js';
import { VARIABLE, type ValuesOf, type WORK_DIR_VARIABLES } from '../../files/composition/variables.js';
import { RigRoots, type RigRootsConfig } from '../../files/directories/rig-roots.js';
import type { Template } from './launch.js';

export interface Places extends RigRootsConfig {
  readonly cityName: string;
  readonly cityPath: string;
  /** As bound: relative to the city, or absolute where rigs may lie. */
  readonly rig: { readonly name: string; readonly path: string } | undefined;
  /** Whether a directory outside of the city is somebody else's, beyond what its files tell. */
  readonly isOthers?: ((directory: string) => Promise<boolean>) | undefined;
  /** Asked of a working directory before it is made; throws where nobody works. */
  readonly check?: ((directories: Directories) => void) | undefined;
}

/** What it takes to find files of a city and of its packs. */
export type Roots = Pick<Places, 'cityPath' | 'citiesRoot' | 'isOthers'>;

/** Real paths. */
export interface Directories {
  readonly city: string;
  readonly rigRoot: string | undefined;
  readonly workDir: string;
}

/** Where agents may have working copies that no rig knows of. */
export const WORKTREES = '.gc/worktrees';
const RUNTIME = '.gc/runtime';
const MAX_DEPTH = 32;

/**
 * The directory that a session works in: what the agent's `work_dir` says for this name, else its rig, else its city. It
 * lies in the city or in the rig, whatever `..` and links say; what `work_dir` names is made when it is not there.
 *
 * @throws StartError `unsupported` when it cannot be used, `not_found` when the city or the rig is gone
 */
export async function workDirectory(template: Template, name: string, places: Places): Promise<Directories> {
  const root = await existing(places.citiesRoot, 'the cities directory');
  const city = await existing(places.cityPath, `the directory of the city ${places.cityName}`);
  const rigRoot = places.rig && (await existing(path.resolve(city, places.rig.path), `the directory of the rig ${places.rig.name}`));
  if (!isBelow(root, city)) throw unusable(city, 'it lies outside the cities directory');
  if (rigRoot !== undefined && (await RigRoots.of(places)).of(rigRoot) === undefined)
    throw unusable(rigRoot, 'it lies outside the cities directory, and where no rig may lie');
  // A link may lead elsewhere than it did when the configuration was composed.
  for (const at of [city, rigRoot])
    if (at !== undefined && at !== places.cityPath && !isBelow(places.cityPath, at) && (await places.isOthers?.(at)) === true)
      throw unusable(at, 'it belongs to another city');
  const written = template.agent?.work_dir;
  if (typeof written !== 'string' || written === '') {
    const workDir = rigRoot ?? city;
    await checkWorktree(workDir, rigRoot ?? city);
    return { city, rigRoot, workDir };
  }
  const wanted = path.resolve(city, expand(written, name, { ...places, city, rigRoot }));
  const within = [rigRoot, city].filter((at) => at !== undefined);
  const workDir = await makeInside(wanted, within, (planned) => places.check?.({ city, rigRoot, workDir: planned }));
  await checkWorktree(
    workDir,
    within.find((at) => at === workDir || isBelow(at, workDir))!,
  );
  return { city, rigRoot, workDir };
}

/**
 * A file system that has become read-only fails a start with `ENOENT`, of a folder in it, where folders are made with those above them.
 *
 * @throws StartError `timeout`: it may pass
 */
export async function checkWritable(at: string, cityName: string, look: typeof access = access): Promise<void> {
  await look(at, constants.W_OK).catch((error: unknown) => {
    const why = `the directory of the city ${cityName} cannot be written by the service: ${errnoOf(error) ?? String(error)}, ${at}`;
    throw new StartError('timeout', why, '', { cause: error });
  });
}

/** The directory for what agents of a city keep between their processes. @throws StartError */
export async function makeRuntimeDirectory(city: string): Promise<string> {
  return makeInside(path.join(city, RUNTIME), [city]);
}

function expand(
  written: string,
  name: string,
  { cityName, city, rig, rigRoot }: Places & { city: string; rigRoot: string | undefined },
): string {
  const known: ValuesOf<typeof WORK_DIR_VARIABLES> = {
    Agent: name,
    AgentBase: name.slice(name.lastIndexOf('/') + 1),
    Rig: rig?.name ?? '',
    RigRoot: rigRoot ?? '',
    CityRoot: city,
    CityName: cityName,
    WorktreesRoot: path.join(city, WORKTREES),
  };
  const values: Readonly<Record<string, string>> = known;
  const expanded = written.replace(VARIABLE, (whole, variable: string) => {
    if (!Object.hasOwn(values, variable))
      throw new StartError('unsupported', `work_dir has the unknown variable ${whole} (accepted: ${Object.keys(values).join(', ')})`);
    return values[variable]!;
  });
  if (expanded.includes('{{')) throw new StartError('unsupported', 'work_dir has more than variables between {{ and }}');
  return expanded;
}

async function existing(at: string, what: string): Promise<string> {
  try {
    const real = await realpath(at);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    throw new StartError('not_found', `${what} cannot be used: ${code === 'ENOENT' ? 'it is not there' : code}`, '', { cause: error });
  }
  throw new StartError('not_found', `${what} is no directory`);
}

/** Makes a directory inside one of `within`. Links are followed before anything is made, and looked at again afterwards. */
export async function makeInside(wanted: string, within: readonly string[], check?: (planned: string) => void): Promise<string> {
  const inside = (at: string): boolean => within.some((root) => at === root || isBelow(root, at));
  if (wanted.includes('\0')) throw new StartError('unsupported', 'the working directory has characters that no path can have');
  // Before the disk is asked for each part that is not there.
  if (hasTooManyParts(wanted)) throw unusable(wanted, `its path has more than ${MOST_PARTS} parts`);
  try {
    const planned = await canonical(wanted);
    if (!inside(planned)) throw unusable(wanted, 'it lies outside the city and the rig');
    if (
      path
        .relative(
          within.find((root) => planned === root || isBelow(root, planned))!,
          planned,
        )
        .split(path.sep).length > MAX_DEPTH
    )
      throw unusable(wanted, `it lies more than ${MAX_DEPTH} directories deep`);
    check?.(planned);
    await mkdir(planned, { recursive: true, mode: 0o755 });
    const real = await realpath(planned);
    if (!inside(real)) throw unusable(wanted, 'it lies outside the city and the rig');
    return real;
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    throw new StartError('unsupported', `the working directory ${wanted} cannot be used: ${code}`, '', { cause: error });
  }
}

/** Every link on the way resolved; the part that is not there yet as it is written. */
async function canonical(wanted: string): Promise<string> {
  const missing: string[] = [];
  for (let at = wanted; ; at = path.dirname(at)) {
    try {
      return path.join(await realpath(at), ...missing);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || at === path.dirname(at)) throw error;
      const dangling = await lstat(at).then(
        () => true,
        () => false,
      );
      if (dangling) throw unusable(wanted, 'it goes through a symbolic link to nowhere');
      missing.unshift(path.basename(at));
    }
  }
}

/** A working copy whose repository is gone would make every git command of the agent fail, or work on another one. */
async function checkWorktree(workDir: string, top: string): Promise<void> {
  for (let at = workDir; ; at = path.dirname(at)) {
    const pointer = await pointerIn(path.join(at, '.git')).catch(() => undefined);
    const target = /^gitdir:\s*(.+?)\s*$/m.exec(pointer ?? '')?.[1];
    if (target !== undefined) {
      const there = await stat(path.resolve(at, target)).then(
        () => true,
        () => false,
      );
      if (!there) throw unusable(at, 'it is a git worktree whose repository is gone; remove it, or add the worktree again');
    }
    if (at === top || at === path.dirname(at)) return;
  }
}

/** A path of a file system and a few words. */
const POINTER = 8 * 1024;

/** What a file says at its beginning. An agent may put a pipe there, which nobody writes to, or a link, or a file that has no end. */
async function pointerIn(file: string): Promise<string | undefined> {
  const handle = await open(file, FILE);
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(POINTER), 0, POINTER, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

function unusable(at: string, why: string): StartError {
  return new StartError('unsupported', `the working directory ${at} cannot be used: ${why}`);
}
