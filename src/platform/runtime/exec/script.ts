import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Program } from '../port.js';
import { printable } from '../printable.js';
import { started } from '../started.js';

/** Milliseconds. */
const OPERATION_MS = 30_000;
export const START_MS = 120_000;
/** Output of an operation that a child left behind keeps open is not waited for longer than this. */
const DRAIN_MS = 250;
const MAX_BYTES = 1024 * 1024;

export interface ScriptSpec {
  /** Absolute, or a name on the PATH of `env`. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** By which the script knows the session. */
  readonly name: string;
}

export interface Answer {
  /** 0 done, 1 failed, 2 an operation that the script does not know; undefined when it took too long or was cut off. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it could not be started, as when there is no such script: it was told nothing. */
  readonly untold?: NodeJS.ErrnoException;
}

export class OperationFailed extends Error {
  constructor(
    operation: string,
    readonly answer: Answer,
  ) {
    const why = printable(answer.stderr).trim() || (answer.code === undefined ? 'it took too long' : `it exited with ${answer.code}`);
    super(`${operation}: ${why}`, { cause: answer.untold });
  }
}

/**
 * A script that runs sessions somewhere: `<script> <operation> <name> [argument]`. What it does not know (exit 2) counts as
 * done. Each operation has its time, after which its whole process group is killed.
 */
export class Script {
  readonly #running = new Set<AbortController>();

  constructor(private readonly spec: ScriptSpec) {}

  /** @throws OperationFailed for everything but exit 0 and 2. */
  async call(operation: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.run(operation, options);
    if (answer.code !== 0 && answer.code !== 2) throw new OperationFailed(operation, answer);
    return answer;
  }

  /** The same without judging the exit code. One that is not there says nothing: it may be replaced at this moment. */
  async run(operation: string, { args = [], input = '', timeoutMs = OPERATION_MS, signal }: CallOptions = {}): Promise<Answer> {
    if (signal?.aborted === true) return { code: undefined, stdout: '', stderr: '' };
    const { command, args: before, env, name } = this.spec;
    const cut = new AbortController();
    const cutOff = (): void => cut.abort();
    const timer = setTimeout(cutOff, timeoutMs);
    signal?.addEventListener('abort', cutOff, { once: true });
    this.#running.add(cut);
    try {
      // The session's directory may be gone when it has to be stopped.
      return await answerOf({ command, args: [...before, operation, name, ...args], cwd: '/', env }, input, cut.signal);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cutOff);
      this.#running.delete(cut);
    }
  }

  /** Cuts off all operations that are under way. */
  abort(): void {
    for (const cut of this.#running) cut.abort();
  }

  /** Undefined when the script does not say it clearly. */
  async isRunning(signal?: AbortSignal): Promise<boolean | undefined> {
    return truth(await this.run('is-running', { signal }));
  }

  /** Whether one of the named programs lives in the session; undefined when the script cannot tell. */
  async processAlive(names: readonly string[]): Promise<boolean | undefined> {
    return truth(await this.run('process-alive', { input: names.join('\n') }));
  }

  async nudge(text: string): Promise<void> {
    await this.call('nudge', { input: text });
  }

  async peek(lines: number, timeoutMs?: number): Promise<string> {
    return (await this.call('peek', { args: [String(lines)], ...(timeoutMs === undefined ? {} : { timeoutMs }) })).stdout;
  }

  /** As the script wrote it; '' when it cannot tell. */
  async lastActivity(): Promise<string> {
    const { code, stdout } = await this.run('get-last-activity');
    return code === 0 ? stdout.trim() : '';
  }

  async setMeta(key: string, value: string): Promise<void> {
    await this.call('set-meta', { args: [key], input: value });
  }

  /**
   * '' when it is not set, or the script keeps none.
   *
   * @throws OperationFailed when there is no script, or it was cut off: nobody is told then that a session is not somebody else's
   */
  async getMeta(key: string): Promise<string> {
    const answer = await this.run('get-meta', { args: [key] });
    if (answer.code === undefined) throw new OperationFailed('get-meta', answer);
    return answer.code === 0 ? answer.stdout.trim() : '';
  }
}

interface CallOptions {
  readonly args?: readonly string[];
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

function truth({ code, stdout }: Answer): boolean | undefined {
  const word = stdout.trim();
  return code !== 0 ? undefined : word === 'true' ? true : word === 'false' ? false : undefined;
}

/** Ended with its process group when it is cut off, or says too much. */
async function answerOf(program: Program, input: string, cut: AbortSignal): Promise<Answer> {
  let child: ChildProcess;
  try {
    child = await started(program);
  } catch (error) {
    const untold = error as NodeJS.ErrnoException;
    return { code: undefined, stdout: '', stderr: whyNot(program.command, untold), untold };
  }
  let isCut = false;
  const end = (): void => {
    isCut = true;
    endGroup(child.pid!);
    letGo(child);
  };
  if (cut.aborted) end();
  cut.addEventListener('abort', end, { once: true });
  const [stdout, stderr] = [child.stdout!, child.stderr!].map((output) => textOf(output, end)) as [() => string, () => string];
  let code: number | null = null;
  child.once('exit', (exitCode) => {
    code = exitCode;
    // What the script leaves running may hold its output open for ever.
    setTimeout(() => letGo(child), DRAIN_MS).unref();
  });
  // It need not read what it is told.
  child.stdin!.on('error', () => undefined);
  child.stdin!.end(input);
  await new Promise<void>((resolve) => child.once('close', () => resolve()));
  cut.removeEventListener('abort', end);
  return { code: isCut ? undefined : (code ?? undefined), stdout: stdout(), stderr: stderr() };
}

/** Without the end of its last line. */
function textOf(output: Readable, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let left = MAX_BYTES;
  output.on('error', () => undefined);
  output.on('data', (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left < 0) tooMuch();
  });
  return () =>
    Buffer.concat(chunks)
      .toString('utf8')
      .replace(/\r?\n$/, '');
}

export function isMissing({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENOENT' || code === 'EACCES';
}

function whyNot(command: string, error: NodeJS.ErrnoException): string {
  return isMissing(error) ? `${command} is not a script that can be run here` : `${command} could not be started: ${error.code}`;
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

function letGo(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
}
