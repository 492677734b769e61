import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { tmpdir } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<CliRun>;
  stdout(): string;
  /** Waits until stdout fits. @throws with both channels when it does not come, or the command ends first. */
  untilOut(fits: RegExp, ms?: number): Promise<void>;
  /** The same of stderr. */
  untilErr(fits: RegExp, ms?: number): Promise<void>;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stdin holds; without it stdin is empty. */
  readonly input?: string;
}

/** `svc …` as a process of its own, from the sources, with an environment that holds nothing else of ours. */
export function spawnSvc(args: readonly string[], options: CliOptions = {}): CliProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS'));
  const child = spawn(process.execPath, ['--import', `${root}scripts/typescript.mjs`, `${root}src/cli/main.ts`, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { ...inherited, ...options.env },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  child.stdin?.end(options.input);
  running.add(child);
  child.once('close', () => running.delete(child));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = new Promise<CliRun>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  let ended = false;
  void exited.then(() => (ended = true));
  const until = async (channel: () => string, fits: RegExp, ms = 60_000): Promise<void> => {
    const limit = Date.now() + ms;
    while (!fits.test(channel())) {
      if (ended || Date.now() > limit)
        throw new Error(`${ended ? 'ended' : `${ms} ms passed`} without ${fits}; stdout: ${stdout}; stderr: ${stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  return {
    child,
    exited,
    stdout: () => stdout,
    untilOut: (fits, ms) => until(() => stdout, fits, ms),
    untilErr: (fits, ms) => until(() => stderr, fits, ms),
  };
}

const running = new Set<ChildProcess>();

/** Ends what a failed test has left running. */
export function killSvc(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Runs a command to its end. */
export function svc(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  return spawnSvc(args, options).exited;
}
