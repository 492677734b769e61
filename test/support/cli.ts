import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run.js';
import { eventually } from './sse.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** A process of the client from the sources: `node …CLIENT`. */
export const CLIENT = ['--import', `${root}scripts/typescript.mjs`, `${root}src/cli/main.ts`];

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cli {
  readonly exited: Promise<CliRun>;
  stdout(): string;
  /** Ctrl-C. */
  interrupt(): void;
  /** Waits until stdout fits. @throws with both channels when it does not come, or the command ends first. */
  untilOut(fits: RegExp): Promise<void>;
  /** The same of stderr. */
  untilErr(fits: RegExp): Promise<void>;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stdin holds; without it stdin is empty. */
  readonly input?: string;
}

/** This environment without anything of ours. */
export function foreignEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('SVC_') || name === 'NODE_OPTIONS' ? [] : [[name, value]],
    ),
  );
}

/**
 * `svc …` in this process, which costs a hundredth of a process of its own: all that `main.ts` does, with streams, an
 * environment and signals that belong to this call alone.
 */
export function startSvc(args: readonly string[], { env, cwd = tmpdir(), input = '' }: CliOptions = {}): Cli {
  const written = { stdout: '', stderr: '' };
  const to = (channel: keyof typeof written): Writable =>
    new Writable({
      decodeStrings: false,
      write: (text: string, _encoding, done) => {
        written[channel] += text;
        done();
      },
    });
  const signals: (() => void)[] = [];
  const code = run(args, {
    env: { ...foreignEnvironment(), ...env },
    stdin: Readable.from([Buffer.from(input)]),
    stdout: to('stdout'),
    stderr: to('stderr'),
    cwd: () => cwd,
    on: (_event, listener) => signals.push(listener),
  });
  return watched(code, written, () => {
    for (const signal of signals) signal();
  });
}

/** `svc …` as a process of its own, from the sources. */
export function spawnSvc(args: readonly string[], options: CliOptions = {}): Cli & { readonly child: ChildProcess } {
  const child = spawn(process.execPath, [...CLIENT, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { ...foreignEnvironment(), ...options.env },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  child.stdin?.end(options.input);
  const written = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (written.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()));
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, ...watched(code, written, () => child.kill('SIGINT')) };
}

const running = new Set<() => void>();

function watched(code: Promise<number | null>, written: { readonly stdout: string; readonly stderr: string }, interrupt: () => void): Cli {
  let ended = false;
  running.add(interrupt);
  const exited = code.then((code) => {
    ended = true;
    running.delete(interrupt);
    return { code, ...written };
  });
  const until =
    (channel: keyof typeof written) =>
    async (fits: RegExp): Promise<void> => {
      const shown = (): boolean => fits.test(written[channel]);
      await eventually(() => shown() || ended).catch(() => undefined);
      if (!shown()) throw new Error(`${ended ? 'ended' : 'goes on'} without ${fits}: ${JSON.stringify(written)}`);
    };
  return { exited, stdout: () => written.stdout, interrupt, untilOut: until('stdout'), untilErr: until('stderr') };
}

/** Ends what a failed test has left running. */
export function killSvc(): void {
  // The second Ctrl-C is not waited for.
  for (const interrupt of running) {
    interrupt();
    interrupt();
  }
}

/** Runs a command to its end. */
export function svc(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  return startSvc(args, options).exited;
}
