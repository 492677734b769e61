import { execa, type ResultPromise } from 'execa';
import { printable } from '../printable.js';

/** Milliseconds. */
export const OPERATION_MS = 30_000;
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
  /** There was no such script, or it may not be run: it was told nothing. */
  readonly missing?: true;
}

export class OperationFailed extends Error {
  constructor(
    operation: string,
    readonly answer: Answer,
  ) {
    const why = printable(answer.stderr).trim() || (answer.code === undefined ? 'it took too long' : `it exited with ${answer.code}`);
    super(`${operation}: ${why}`);
  }
}

/**
 * A script that runs sessions somewhere: `<script> <operation> <name> [argument]`. What it does not know (exit 2) counts as
 * done. Each operation has its time, after which its whole process group is killed.
 */
export class Script {
  readonly #running = new Set<ResultPromise>();

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
    const child = execa(this.spec.command, [...this.spec.args, operation, this.spec.name, ...args], {
      // The session's directory may be gone when it has to be stopped.
      cwd: '/',
      env: this.spec.env,
      extendEnv: false,
      detached: true,
      reject: false,
      input,
      maxBuffer: MAX_BYTES,
      stripFinalNewline: true,
    });
    this.#running.add(child);
    let cut = false;
    const killGroup = (): void => {
      cut = true;
      endGroup(child.pid);
      letGo(child);
    };
    const timer = setTimeout(killGroup, timeoutMs);
    signal?.addEventListener('abort', killGroup, { once: true });
    let code: number | null | undefined;
    child.once('exit', (exitCode) => {
      code = exitCode;
      // What the script leaves running may hold its output open for ever.
      setTimeout(() => letGo(child), DRAIN_MS).unref();
    });
    try {
      const result = await child;
      if (result.code === 'ENOENT' || result.code === 'EACCES')
        return { code: undefined, stdout: '', stderr: `${this.spec.command} is not a script that can be run here`, missing: true };
      const exit = cut ? undefined : (code ?? result.exitCode);
      // One that could not be begun, as it is written just then, has said nothing.
      return { code: exit ?? undefined, stdout: result.stdout ?? '', stderr: result.stderr ?? '' };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', killGroup);
      this.#running.delete(child);
    }
  }

  /** Cuts off all operations that are under way. */
  abort(): void {
    for (const child of this.#running) {
      endGroup(child.pid);
      letGo(child);
    }
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

  /** Names that begin with `prefix`, of all sessions that the script knows to be running. */
  async listRunning(prefix: string): Promise<string[]> {
    const { stdout } = await this.call('list-running', { args: [prefix] });
    return stdout.split('\n').flatMap((line) => line.trim() || []);
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

  async removeMeta(key: string): Promise<void> {
    await this.call('remove-meta', { args: [key] });
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

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

function letGo(child: ResultPromise): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
}
