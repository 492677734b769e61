import { spawn } from 'node:child_process';
import { homedir } from 'node:os';

/** git did not do what it was asked to; the message is for people and holds nothing secret. */
export class GitFailed extends Error {
  override readonly name = 'GitFailed';
}

export interface GitCall {
  readonly args: readonly string[];
  readonly cwd: string;
  /** Settings that count before every file's. They go through the environment, where other users of the machine cannot read them. */
  readonly settings?: readonly (readonly [key: string, value: string])[];
  readonly signal?: AbortSignal | undefined;
  readonly limitMs: number;
}

const MAX_OUTPUT = 4 * 1024 * 1024;
const MAX_ERRORS = 64 * 1024;
const MESSAGE = 300;
/** Where git and its helpers are, whatever the path of this process is. */
const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
/** Nothing of a repository runs, and nobody is asked for anything. */
const ALWAYS: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.pager', 'cat'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
];

/**
 * Runs git in a process group of its own and answers what it printed.
 *
 * @throws GitFailed when it fails, prints too much or does not end in time; the signal's reason when that aborts
 */
export async function git({ args, cwd, settings = [], signal, limitMs }: GitCall): Promise<string> {
  signal?.throwIfAborted();
  const child = spawn('git', [...args], {
    cwd,
    env: environment([...ALWAYS, ...settings]),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  let sizes = { output: 0, errors: 0 };
  let why: string | undefined;
  const end = (reason: string): void => {
    why ??= reason;
    try {
      // The whole group: git does its work in children. Before it has started there is none.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  };
  child.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk);
    sizes = { ...sizes, output: sizes.output + chunk.length };
    if (sizes.output > MAX_OUTPUT) end('git printed too much');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (sizes.errors < MAX_ERRORS) errors.push(chunk);
    sizes = { ...sizes, errors: sizes.errors + chunk.length };
  });
  const aborted = (): void => end('it was stopped');
  signal?.addEventListener('abort', aborted, { once: true });
  const limit = setTimeout(() => end(`git did not end within ${Math.round(limitMs / 1000)} s`), limitMs);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (error) => reject(new GitFailed('git cannot be run here', { cause: error })));
      child.once('close', resolve);
    });
    signal?.throwIfAborted();
    if (why !== undefined) throw new GitFailed(why);
    if (code !== 0) throw new GitFailed(lastLine(Buffer.concat(errors).toString('utf8')));
    return Buffer.concat(output).toString('utf8');
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener('abort', aborted);
  }
}

function environment(settings: readonly (readonly [string, string])[]): Record<string, string> {
  const env: Record<string, string> = {
    PATH,
    HOME: homedir(),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
  };
  settings.forEach(([key, value], n) => {
    env[`GIT_CONFIG_KEY_${n}`] = key;
    env[`GIT_CONFIG_VALUE_${n}`] = value;
  });
  return env;
}

/** What git says last is why it failed; it may repeat what a server said. */
function lastLine(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/[^\x20-\x7e]/g, ' ').trim());
  const last = lines.filter((line) => line !== '').at(-1) ?? 'git failed';
  return last.length > MESSAGE ? `${last.slice(0, MESSAGE)}…` : last;
}
