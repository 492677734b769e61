import type { ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { Program } from '../runtime/port.js';
import { started } from '../runtime/started.js';
import { atMost } from '../time/clock.js';
import { HEARS } from './git-environment.js';
import { GitFailure } from './git-failure.js';
import type { SshLine } from './ssh-line.js';

const MAX_OUTPUT = 16 * 1024 * 1024;
const MAX_WORDS = 64 * 1024;
/**
 * git keeps what a server lists in memory however long the list is: measured, 3 GiB in 20 s. Address space in KiB; where
 * a system cannot limit it, the time limit remains.
 */
const MAX_MEMORY = 2 * 1024 * 1024;
const LIMITED = 'ulimit -v "$0" 2>/dev/null; exec git "$@"';
const NOT_FOUND = 127;
/** For output that is on its way when git has ended. */
const LAST_WORDS_MS = 1_000;
const BESIDE = ['pipe', 'pipe'] as const;

export interface GitRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Its abort ends git and everything that git started. */
  readonly signal: AbortSignal;
  /** Address space in KiB; 2 GiB unless given. */
  readonly memory?: number;
  /** Takes in its output as it comes, however much: nothing of it is kept. What it throws ends git. */
  readonly heard?: (part: Buffer) => void;
}

export interface GitExit {
  readonly code: number;
  /** Empty where it was heard. */
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** git within its memory. @param before what a shell does first with `words`, which it takes away from its arguments */
export function gitProgram(
  { args, cwd, env, memory = MAX_MEMORY }: GitRun,
  before?: { readonly look: string; readonly words: readonly string[] },
): Program {
  const [line, words] = before === undefined ? [LIMITED, []] : [`${before.look}; ${LIMITED}`, before.words];
  return { command: '/bin/sh', args: ['-c', line, String(memory), ...words, ...args], cwd, env };
}

/** What git has beside its output: a line to whom it calls by ssh, or a text that it hears once. */
export interface Beside {
  readonly line?: SshLine | undefined;
  readonly told?: string | undefined;
}

/**
 * Runs git in a process group of its own, which has been killed when the answer comes. What git has started outside of that group may
 * live on, and keep pipes of git's open: nobody waits for it, nor for what the kernel does not let go of.
 *
 * @param program what to start, when that is not git itself
 * @throws GitFailure timeout or aborted by the signal's reason, too_large, unavailable; failed where somebody else may still write
 */
export async function runGit(run: GitRun, program: Program = gitProgram(run), { line, told }: Beside = {}): Promise<GitExit> {
  const { signal, heard } = run;
  if (signal.aborted) throw abortion(signal);
  const beside = line === undefined && told === undefined ? [] : BESIDE;
  const child = await started(program, ['ignore', 'pipe', 'pipe', ...beside]).catch((error: unknown) => {
    throw unavailable(error);
  });
  let failure: GitFailure | undefined;
  let stop = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    stop = resolve;
    child.once('exit', () => resolve());
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = (why: GitFailure): void => {
    failure ??= why;
    killGroup(child);
    stop();
  };
  const onAbort = (): void => end(abortion(signal));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  line?.connect(child);
  if (told !== undefined) tell(child, told);
  const out: Buffer[] = [];
  let bytes = 0;
  let words = '';
  const take = (chunk: Buffer): void => {
    try {
      heard!(chunk);
    } catch (error) {
      end(error as GitFailure);
    }
  };
  child.stdout!.on('data', (chunk: Buffer) => {
    if (heard !== undefined) return take(chunk);
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT) end(new GitFailure('too_large', 'git has more to say than fits'));
    else out.push(chunk);
  });
  child.stderr!.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-MAX_WORDS);
  });
  try {
    await over;
    // Twice: where this process was kept from its turn, the first one is over before it has read what is there.
    for (let n = 0; n < 2; n++) await atMost(LAST_WORDS_MS, closed);
  } finally {
    signal.removeEventListener('abort', onAbort);
    killGroup(child);
    for (const pipe of child.stdio) pipe?.destroy();
  }
  if (failure !== undefined) throw failure;
  if (child.exitCode === NOT_FOUND) throw unavailable();
  if (!child.stdout!.readableEnded) throw new GitFailure('failed', 'what git has started keeps its output open');
  return { code: child.exitCode ?? -1, stdout: Buffer.concat(out), stderr: words };
}

/** Whoever comes first in there reads it, once. */
function tell(child: ChildProcess, text: string): void {
  const hears = child.stdio[HEARS] as Writable;
  hears.on('error', () => undefined);
  hears.end(text);
}

function unavailable(cause?: unknown): GitFailure {
  return new GitFailure('unavailable', 'git cannot be started here', { cause });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

/** Why what an aborted signal belongs to has failed. */
export function abortion(signal: AbortSignal): GitFailure {
  const { reason } = signal as { reason: unknown };
  if (reason instanceof GitFailure) return reason;
  if (reason instanceof Error && reason.name === 'TimeoutError') return new GitFailure('timeout', 'it took too long', { cause: reason });
  return new GitFailure('aborted', 'it was given up', { cause: reason });
}
