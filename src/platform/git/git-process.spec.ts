import { describe, expect, it } from '@jest/globals';
import { GitFailure } from './git-failure.js';
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

describe('what git has to say', () => {
  const say = (bytes: number, heard?: (part: Buffer) => void) => {
    const run = { args: [], cwd: '/', env: { PATH: '/usr/bin:/bin' }, signal: new AbortController().signal, ...(heard && { heard }) };
    return runGit(run, { ...run, command: '/bin/sh', args: ['-c', `head -c ${bytes} /dev/zero`] });
  };
  const MUCH = 17 * 1024 * 1024;

  // Guard: the paths of 150,000 files are more than is kept.
  it('is bounded where it is kept, and not where somebody takes it in', async () => {
    await expect(say(MUCH)).rejects.toMatchObject({ reason: 'too_large' });
    let bytes = 0;
    await expect(say(MUCH, (part) => void (bytes += part.length))).resolves.toMatchObject({ code: 0, stdout: Buffer.alloc(0) });
    expect(bytes).toBe(MUCH);
  });

  it('ends with whoever refuses it', async () => {
    const refused = new GitFailure('too_large', 'enough');
    const refuse = (): never => {
      throw refused;
    };
    await expect(say(MUCH, refuse)).rejects.toBe(refused);
  });
});
