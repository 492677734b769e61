import { describe, expect, it } from '@jest/globals';
import { runGit } from './git-process.js';

/** A filter of a repository may leave something running that has pipes of git's, in a session of its own. */
describe('what git leaves running', () => {
  const left = (line: string, signal = new AbortController().signal) => {
    const run = { args: [], cwd: '/', env: { PATH: '/usr/bin:/bin' }, signal };
    return runGit(run, { ...run, command: '/bin/sh', args: ['-c', line] });
  };

  it('keeps nobody waiting, and nobody gets half an answer', async () => {
    const abort = new AbortController();
    const aborted = left('setsid sleep 9 >/dev/null & exec sleep 9', abort.signal);
    await Promise.all([
      expect(left('setsid sleep 9 >/dev/null & echo whole')).resolves.toMatchObject({ code: 0, stdout: Buffer.from('whole\n') }),
      expect(left('echo half; setsid sleep 9 2>/dev/null &')).rejects.toMatchObject({ reason: 'failed' }),
    ]);
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ reason: 'aborted' });
  });
});
