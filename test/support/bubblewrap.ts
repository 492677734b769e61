import { execFileSync } from 'node:child_process';

/** Whether sandboxes can be made here: otherwise their tests are skipped. */
export const hasBubblewrap = (() => {
  try {
    execFileSync('bwrap', ['--unshare-all', '--unshare-user', '--ro-bind', '/', '/', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
