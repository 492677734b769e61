import { processIo, type Surroundings } from './io.js';
import { runCli } from './cli.js';
import { EXIT } from './exit-codes.js';

/**
 * Runs one command line to its end in what surrounds it: the exit code, once what was written is taken. Ctrl-C once ends a
 * command in good order, twice at once; a pager is left to it. A reader that has gone (`| head`) is a normal end, and a full disk a failure;
 * who has more to do than to tell does it first.
 */
export function run(args: readonly string[], around: Surroundings): Promise<number> {
  const interrupted = new AbortController();
  const io = processIo(around, interrupted.signal);
  return new Promise((resolve) => {
    if (args[0] !== 'serve') {
      around.on('SIGINT', () => {
        if (io.paging === true) return;
        if (interrupted.signal.aborted) resolve(130);
        interrupted.abort();
      });
    }
    let untold = false;
    around.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      const ends = io.finishes !== true;
      if (code === 'EPIPE') return ends ? resolve(0) : undefined;
      if (!untold) around.stderr.write(`svc: what was to be told cannot be written: ${message}\n`, () => ends && resolve(EXIT.failed));
      untold = true;
    });
    around.stderr.on('error', () => undefined);
    void runCli(args, io).then((code) => {
      around.stdout.write('', () => around.stderr.write('', () => resolve(code === 0 && untold ? EXIT.failed : code)));
    });
  });
}
