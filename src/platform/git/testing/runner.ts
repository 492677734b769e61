import { isolationOf } from '../../isolation/testing/isolation.js';
import { GitRunner } from '../git-runner.js';

/** Runs git as a process with this data directory does, in a sandbox where there are any. */
export function gitRunner(dataDir: string): GitRunner {
  return new GitRunner(isolationOf(dataDir));
}
