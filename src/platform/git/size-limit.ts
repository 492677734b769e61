import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { GitFailure } from './git-failure.js';

const EVERY_MS = 200;

/** Runs `work` and ends it when a directory grows beyond a size meanwhile. */
export async function boundedBy<T>(
  bytes: number,
  directory: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const tooLarge = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    if ((await sizeOf(directory, bytes)) > bytes)
      tooLarge.abort(new GitFailure('too_large', `the repository is larger than ${bytes / (1024 * 1024)} MiB`));
    else if (timer !== undefined) timer = setTimeout(() => void look(), EVERY_MS);
  };
  timer = setTimeout(() => void look(), EVERY_MS);
  try {
    return await work(AbortSignal.any([signal, tooLarge.signal]));
  } finally {
    clearTimeout(timer);
    timer = undefined;
  }
}

/** Bytes of the files below a directory, counted no further than a little over `enough`. */
async function sizeOf(directory: string, enough: number): Promise<number> {
  let total = 0;
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const at = path.join(directory, entry.name);
    if (entry.isDirectory()) total += await sizeOf(at, enough - total);
    else total += (await lstat(at).catch(() => undefined))?.size ?? 0;
    if (total > enough) break;
  }
  return total;
}
