import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

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
  /** All of stdin as text. */
  input(): Promise<string>;
  /** What a person types, line by line, until the signal aborts; undefined where nobody sits at a terminal. */
  readonly lines: ((signal: AbortSignal) => AsyncIterable<string>) | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The real process. */
export function processIo(signal: AbortSignal): Io {
  const { env, stdout, stderr } = process;
  const interactive = stderr.isTTY === true && env.TERM !== 'dumb' && (env.CI ?? '') === '';
  return {
    env,
    cwd: process.cwd(),
    out: (data) =>
      new Promise((resolve) => {
        if (stdout.write(data)) resolve();
        else stdout.once('drain', resolve);
      }),
    err: (data) => void stderr.write(data),
    interactive,
    colour: (env.NO_COLOR ?? '') === '' && stdout.isTTY === true && env.TERM !== 'dumb',
    columns: (interactive ? stderr.columns : stdout.columns) || 80,
    width: stdout.isTTY === true ? stdout.columns || 80 : undefined,
    input: () => text(process.stdin),
    lines: process.stdin.isTTY === true && stdout.isTTY === true ? typedLines : undefined,
    signal,
  };
}

/** The terminal itself lets people correct a line and press Ctrl-C. */
function typedLines(signal: AbortSignal): AsyncIterable<string> {
  return createInterface({ input: process.stdin, terminal: false, signal });
}
