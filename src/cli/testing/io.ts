import type { Io } from '../io.js';

export interface FakeIo extends Io {
  readonly stdout: string;
  readonly stderr: string;
  interrupt(): void;
  /** Resolves once that text has been written to stdout. */
  untilOut(text: string, ms?: number): Promise<void>;
}

/** A process with nothing around it: no environment, no terminal, an empty directory. */
export function fakeIo(
  given: Partial<Pick<Io, 'env' | 'cwd' | 'interactive' | 'columns' | 'width' | 'height' | 'lines'>> & { stdin?: string } = {},
): FakeIo {
  const abort = new AbortController();
  const watchers = new Set<() => void>();
  const io = {
    env: {},
    cwd: '/',
    interactive: false,
    colour: false,
    columns: 80,
    width: undefined,
    height: undefined,
    lines: undefined,
    input: () => Promise.resolve(given.stdin ?? ''),
    ...given,
    signal: abort.signal,
    stdout: '',
    stderr: '',
    out: (text: string) => {
      io.stdout += text;
      for (const watcher of watchers) watcher();
      return Promise.resolve();
    },
    err: (text: string) => {
      io.stderr += text;
    },
    interrupt: () => abort.abort(),
    untilOut: (text: string, ms = 60_000) =>
      new Promise<void>((resolve, reject) => {
        const check = (): void => {
          if (!io.stdout.includes(text)) return;
          clearTimeout(timer);
          watchers.delete(check);
          resolve();
        };
        const timer = setTimeout(() => {
          watchers.delete(check);
          reject(new Error(`${ms} ms passed without ${JSON.stringify(text)} on stdout; stdout: ${io.stdout}; stderr: ${io.stderr}`));
        }, ms);
        watchers.add(check);
        check();
      }),
  };
  return io;
}
