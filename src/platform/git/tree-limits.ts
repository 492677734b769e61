import { GitFailure } from './git-failure.js';

const ENTRY = /^(\d{6}) \w+ [0-9a-f]+ +(\d+|-)\t(.*)$/s;
const MAX_DEPTH = 32;

/** Refuses a commit whose files would not fit, before any of them is written. @param listing as `ls-tree -r -l -z` prints it */
export function checkTree(listing: Buffer, limits: { readonly bytes: number; readonly files: number }): void {
  let files = 0;
  let bytes = 0;
  for (const entry of listing.toString('utf8').split('\0')) {
    const [, , size, name] = ENTRY.exec(entry) ?? [];
    if (size === undefined || name === undefined) continue;
    bytes += size === '-' ? 0 : Number(size);
    if (++files > limits.files) throw new GitFailure('too_large', `the repository holds more than ${limits.files} files`);
    if (bytes > limits.bytes) throw new GitFailure('too_large', `the repository is larger than ${limits.bytes / (1024 * 1024)} MiB`);
    if (name.split('/').length > MAX_DEPTH) throw new GitFailure('too_large', `the repository is more than ${MAX_DEPTH} directories deep`);
  }
}
