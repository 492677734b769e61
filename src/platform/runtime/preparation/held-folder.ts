import { constants, readlinkSync } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../port.js';

/** Elsewhere nothing isolates, and a path is as good. */
export const HOLDS = process.platform === 'linux';
/** How a folder is opened: through no link. */
export const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * A folder that is open: it stays the same one, whatever others put in its place meanwhile. What is reached through `at` lies in
 * it, and in nothing that a link leads to.
 */
export class HeldFolder {
  private constructor(
    private readonly handle: FileHandle,
    private readonly directory: string,
  ) {}

  /** @param directory absolute @throws StartError unsupported when it is a link, or lies behind one; what the system says when it is not there */
  static async open(directory: string): Promise<HeldFolder> {
    const handle = await open(directory, FOLDER).catch((error: unknown) => {
      throw isInTheWay(error) ? behindLink(directory) : error;
    });
    const held = new HeldFolder(handle, directory);
    if (liesAt(handle, directory)) return held;
    await held.close();
    throw behindLink(directory);
  }

  get name(): string {
    return path.basename(this.directory);
  }

  /** Where something of it is found as long as it is open. @param name of the folder's own, without `/` */
  at(name: string): string {
    return path.join(throughHandle(this.handle, this.directory), name);
  }

  /** A folder in it, which is made when there is none; undefined when something else has its name. */
  async inside(name: string, mode = 0o777): Promise<HeldFolder | undefined> {
    const enter = async (): Promise<HeldFolder> => new HeldFolder(await open(this.at(name), FOLDER), path.join(this.directory, name));
    try {
      return await enter().catch(async (error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
        await mkdir(this.at(name), mode).catch((raced: unknown) => {
          if (codeOf(raced) !== 'EEXIST') throw raced;
        });
        return enter();
      });
    } catch (error) {
      if (isInTheWay(error)) return undefined;
      throw error;
    }
  }

  /** A number that no other folder has meanwhile. */
  async identity(): Promise<string> {
    const { dev, ino } = await this.handle.stat({ bigint: true });
    return `${dev}:${ino}`;
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/**
 * Does something at a path in a folder that stays the one it is, whatever others put in its place meanwhile.
 *
 * @throws as `HeldFolder.open`
 */
export async function inFolderOf<T>(at: string, work: (place: string) => Promise<T>): Promise<T> {
  const folder = await HeldFolder.open(path.dirname(at));
  try {
    return await work(folder.at(path.basename(at)));
  } finally {
    await folder.close();
  }
}

/** As `inFolderOf`, with the folders below `root` made that are missing. */
export async function inMadeFolderOf<T>(root: string, at: string, work: (place: string) => Promise<T>): Promise<T> {
  let folder = await HeldFolder.open(root);
  try {
    for (const name of path.relative(root, path.dirname(at)).split(path.sep)) {
      if (name === '') continue;
      const next = await folder.inside(name, 0o755);
      if (next === undefined) throw behindLink(path.dirname(at));
      await folder.close();
      folder = next;
    }
    return await work(folder.at(path.basename(at)));
  } finally {
    await folder.close();
  }
}

/**
 * True when what is open lies at one of the paths by now, with every link resolved; always where nothing isolates. The kernel has it in mind:
 * asking a thread would take ten times as long.
 */
export function liesAt({ fd }: FileHandle, ...paths: readonly string[]): boolean {
  if (!HOLDS) return true;
  try {
    return paths.includes(readlinkSync(`/proc/self/fd/${fd}`));
  } catch {
    return false;
  }
}

/** A path to a folder that is open, wherever it lies by now. @param at where it was opened */
export function throughHandle({ fd }: FileHandle, at: string): string {
  return HOLDS ? `/proc/self/fd/${fd}` : at;
}

function behindLink(directory: string): StartError {
  return new StartError('unsupported', `the working directory ${directory} is a link, or lies behind one`);
}

function isInTheWay(error: unknown): boolean {
  return codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ELOOP';
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
