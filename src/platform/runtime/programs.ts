import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Program } from './port.js';

/** The files that a command may mean, as a shell looks for them: from its directory with a slash, otherwise on the search path. */
export async function* programsNamed({ command, cwd, env }: Pick<Program, 'command' | 'cwd' | 'env'>): AsyncGenerator<string> {
  const folders = command.includes('/') ? [cwd] : (env.PATH ?? '').split(path.delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const file = path.resolve(cwd, folder, command);
    if (await isProgram(file)) yield file;
  }
}

export async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
