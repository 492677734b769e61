import { execFile, type ExecFileException } from 'node:child_process';
import { homedir } from 'node:os';
import { PATH, type Remote } from './git-environment.js';
import { GitFailure } from './git-failure.js';

const LIMIT_MS = 10_000;
const MAX_ANSWER = 64 * 1024;

/**
 * Asks a program of the operator's in git's protocol of credential helpers. What it says, on either channel, is kept out of every error.
 *
 * @returns undefined when it has none for this repository
 * @throws GitFailure unavailable, aborted
 */
export async function askHelper(
  [program, ...args]: readonly [string, ...string[]],
  remote: Remote,
  signal: AbortSignal,
): Promise<{ readonly username: string; readonly password: string } | undefined> {
  const { protocol, host, pathname } = new URL(remote.url);
  const asked = `protocol=${protocol.slice(0, -1)}\nhost=${host}\npath=${pathname.slice(1)}\n\n`;
  const answer = await new Promise<string>((resolve, reject) => {
    const options = { cwd: '/', env: { PATH, HOME: homedir(), LC_ALL: 'C' }, timeout: LIMIT_MS, maxBuffer: MAX_ANSWER, signal };
    const child = execFile(program, [...args, 'get'], { ...options, killSignal: 'SIGKILL' }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else if (signal.aborted) reject(new GitFailure('aborted', 'it was given up'));
      else
        reject(new GitFailure('unavailable', `the operator’s credential helper for ${remote.host} does not work`, { cause: whyOf(error) }));
    });
    // One that could not be started may have no pipes.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(asked);
  });
  const said = new Map(answer.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  const [username, password] = [said.get('username'), said.get('password')];
  if (username === undefined || password === undefined || password === '') return undefined;
  return { username, password };
}

/** How it ended, and nothing that it said: the message of the error has its words. */
function whyOf({ code, killed }: ExecFileException): Error {
  if (killed === true) return new Error('it took too long, or said too much');
  return new Error(typeof code === 'number' ? `it ended with ${code}` : `it cannot be started: ${code ?? 'a signal ended it'}`);
}
