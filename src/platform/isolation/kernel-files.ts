import { lstat, readdir } from 'node:fs/promises';

const WRITABLE = 0o222;
const PROCESS = /^\d+$/;

/**
 * Arguments of bubblewrap for after its `/proc`: what is there of the kernel itself is read-only.
 *
 * Who is root of the host may write settings of the kernel (`/proc/sys`) without any capability, such as the program that the host starts for each
 * core dump. bubblewrap covers a part of them only where it could write in the folder itself.
 */
export async function kernelArguments(): Promise<string[]> {
  // Nobody else may write there.
  if (process.getuid!() !== 0) return [];
  const args: string[] = [];
  for (const name of await readdir('/proc')) {
    if (PROCESS.test(name)) continue;
    const at = `/proc/${name}`;
    const found = await lstat(at).catch(() => undefined);
    // Links lead to what is a process's own.
    if (found === undefined || found.isSymbolicLink()) continue;
    if (found.isDirectory() || (found.mode & WRITABLE) !== 0) args.push('--ro-bind-try', at, at);
  }
  return args;
}
