import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { orAborted } from '../client/sleep.js';
import { InterruptedError } from './errors.js';
import { writtenOut } from './harmless.js';
import { terminalOf, type Display, type Keyboard, type Terminal } from './terminal.js';

/** What a command may touch of the process: nothing else of the outside world is reached for, so tests hand in their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Data. Resolves when the reader takes more, so that a slow pipe slows the command instead of filling its memory. */
  out(text: string): Promise<void>;
  /** Everything that is not data: progress, notices, errors. */
  err(text: string): void;
  /** True when progress may be drawn over itself. */
  readonly interactive: boolean;
  readonly colour: boolean;
  readonly columns: number;
  /** Columns of the terminal that stdout is; undefined when it is a file or a pipe, where nothing is cut. */
  readonly width: number | undefined;
  /** Rows of it. */
  readonly height: number | undefined;
  /** Whether tables have all of their columns, and are not cut. */
  readonly wide?: boolean;
  /** Set once a request was made. */
  asked?: boolean;
  /** Set by who has more to do than to tell of it, and goes on when nobody reads any more. */
  finishes?: boolean;
  /** Whether a person looks at stdout, and has asked for no format of programs. */
  readonly readable?: boolean;
  /** Shows a text that is longer than the terminal, a screen at a time; undefined where there is none, or nobody wants that. */
  readonly page?: ((text: string) => Promise<void>) | undefined;
  /** Set while that is looked at: Ctrl-C is meant for what shows it, which would stay behind and take keys from the shell. */
  paging?: boolean;
  /** All of stdin as text. */
  input(): Promise<string>;
  /** What a person types, line by line, until the signal aborts; undefined where nobody sits at a terminal. */
  readonly lines: ((signal: AbortSignal) => AsyncIterable<string>) | undefined;
  /** What comes on stdin, line by line, from whomever. */
  readonly received?: ((signal: AbortSignal) => AsyncIterable<string>) | undefined;
  /** Whether it comes from a keyboard. */
  readonly typed?: boolean;
  /** The terminal itself, key by key; undefined where stdin or stdout is none. */
  readonly terminal?: Terminal | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** A terminal has its width in columns, and its height in rows. */
type Output = NodeJS.WritableStream & Display & { readonly isTTY?: boolean };

/** What a process is to the client. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Keyboard & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  cwd(): string;
  on(event: 'SIGINT', listener: () => void): unknown;
}

/** Files and pipes get the data as it is; on a terminal nothing hides, wherever it comes from. */
const shown = (data: string, output: Output): string => (output.isTTY === true ? writtenOut(data) : data);

export function processIo(around: Surroundings, signal: AbortSignal): Io {
  const { env, stdin, stdout, stderr } = around;
  const interactive = stderr.isTTY === true && env.TERM !== 'dumb' && (env.CI ?? '') === '';
  const both = stdin.isTTY === true && stdout.isTTY === true;
  // The terminal itself lets people correct a line and press Ctrl-C.
  const received = (until: AbortSignal): AsyncIterable<string> =>
    createInterface({ input: stdin, terminal: false, crlfDelay: Infinity, signal: until });
  const io: Io = {
    env,
    cwd: around.cwd(),
    out: (data) =>
      new Promise((resolve) => {
        if (stdout.write(shown(data, stdout))) return resolve();
        const over = (): void => {
          stdout.off('drain', over).off('error', over);
          resolve();
        };
        stdout.once('drain', over).once('error', over);
      }),
    err: (data) => void stderr.write(shown(data, stderr)),
    interactive,
    colour: coloured(env, stdout),
    columns: (interactive ? stderr.columns : stdout.columns) || 80,
    width: stdout.isTTY === true ? stdout.columns || 80 : undefined,
    height: stdout.isTTY === true ? stdout.rows || 24 : undefined,
    page: stdout.isTTY === true && around === process ? pagerOf(env, (on) => (io.paging = on)) : undefined,
    input: () => orInterrupted(text(stdin), signal),
    lines: both ? received : undefined,
    received,
    typed: stdin.isTTY === true,
    terminal: both && env.TERM !== 'dumb' ? terminalOf(stdin, stdout) : undefined,
    signal,
  };
  return io;
}

/** Somebody who types a text, and thinks better of it. */
function orInterrupted<T>(waited: Promise<T>, signal: AbortSignal): Promise<T> {
  return orAborted(waited, signal).catch((error: unknown) => {
    throw signal.aborted ? new InterruptedError() : error;
  });
}

/** `FORCE_COLOR` wins over all else, as it does for Node itself; then `NO_COLOR` counts, then whether it is a terminal that knows colours. */
function coloured({ FORCE_COLOR, NO_COLOR = '', TERM }: Io['env'], stdout: Output): boolean {
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return !['0', 'false'].includes(FORCE_COLOR);
  return NO_COLOR === '' && stdout.isTTY === true && TERM !== 'dumb';
}

/** `SVC_PAGER`, then `PAGER`, then `less`; empty and `cat` mean none. One that cannot be started is left out. */
function pagerOf(env: Io['env'], paging: (on: boolean) => void): Io['page'] {
  const command = env.SVC_PAGER ?? env.PAGER ?? 'less';
  if (command.trim() === '' || command.trim() === 'cat' || env.TERM === 'dumb') return undefined;
  return (shownText) =>
    new Promise<void>((resolve) => {
      paging(true);
      const data = writtenOut(shownText);
      // As git does: what fits is only shown, colours stay, the screen is left as it is.
      const child = spawn('sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'], env: { LESS: 'FRX', ...env } });
      child.stdin.on('error', () => undefined);
      child.once('error', () => process.stdout.write(data, () => resolve()));
      child.once('close', (code) => (code === 127 ? process.stdout.write(data, () => resolve()) : resolve()));
      child.stdin.end(data);
    }).finally(() => paging(false));
}
