import { isolationOf } from '../../isolation/testing/isolation.js';
import type { GitCredentials } from '../git-credentials.js';
import { GitRunner } from '../git-runner.js';
import { NOBODY } from '../sign-in.js';

/** Runs git as a process with this data directory does, in a sandbox where there are any. */
export function gitRunner(dataDir: string): GitRunner {
  return new GitRunner(isolationOf(dataDir));
}

/** Of an operator who has named none. */
export const noCredentials = { of: () => Promise.resolve(NOBODY) } as unknown as GitCredentials;
