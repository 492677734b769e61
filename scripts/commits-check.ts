import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { faultOf } from './commit-subject.js';

/**
 * `npm run commits:check`: subjects of commits are `type(scope): imperative`. Those up to `SINCE` are as they are. A shallow clone has
 * only some of the others; a history without `SINCE` is not this one, and has nothing to check.
 */
const SINCE = '46c52ade2dc5f4062954fbaf8428edbcc471688a';
const root = fileURLToPath(new URL('../', import.meta.url));

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}

const isKnown = git('merge-base', '--is-ancestor', SINCE, 'HEAD') !== undefined;
const isShallow = git('rev-parse', '--is-shallow-repository')?.trim() === 'true';
const commits = isKnown || isShallow ? git('log', '--no-merges', '--format=%h %s', isKnown ? `${SINCE}..HEAD` : 'HEAD') : '';
let faults = 0;
for (const line of (commits ?? '').split('\n').filter(Boolean)) {
  const at = line.indexOf(' ');
  const fault = faultOf(line.slice(at + 1));
  if (fault === undefined) continue;
  faults++;
  console.error(`${line}: ${fault}`);
}
process.exitCode = faults === 0 ? 0 : 1;
