import { mkdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliError } from '../errors.js';
import type { NewFile } from './templates.js';

/** Files that were written, which can be taken back. */
export interface Written {
  /** Removes them, and the folders that were made for them. */
  undo(): Promise<void>;
}

/** Writes the files into a folder that has none of them. @throws CliError */
export async function writeFiles(folder: string, files: readonly NewFile[]): Promise<Written> {
  const fresh: NewFile[] = [];
  for (const file of files) {
    if (!(await exists(join(folder, file.path)))) fresh.push(file);
    else if (file.optional !== true) throw new CliError(`${join(folder, file.path)} is there already`);
  }
  const made: string[] = [];
  const undo = async (): Promise<void> => {
    for (const { path } of fresh) await rm(join(folder, path), { force: true });
    for (const each of made.reverse()) await rmdir(each).catch(() => undefined);
  };
  try {
    for (const { path, text, executable } of fresh) {
      const at = join(folder, path);
      made.push(...(await folders(dirname(at))));
      await writeFile(at, text, { flag: 'wx', mode: executable === true ? 0o755 : 0o644 });
    }
  } catch (error) {
    await undo();
    throw new CliError(`cannot write into ${folder}: ${(error as Error).message}`);
  }
  return { undo };
}

/** Makes a folder and says which of it are new, outermost first. */
async function folders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; !(await exists(at)); at = dirname(at)) missing.unshift(at);
  await mkdir(folder, { recursive: true });
  return missing;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
