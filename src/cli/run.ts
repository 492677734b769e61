import { processIo, type Surroundings } from './io.js';
import { runCli } from './cli.js';

/**
 * Runs one command line to its end in what surrounds it: the exit code, once what was written is taken. Ctrl-C once ends a
 * command in good order, twice at once; a pager is left to it. A reader that has gone (`| head`) is a normal end, unless there is more to do than to tell.
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
    around.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') return io.finishes === true ? undefined : resolve(0);
      around.stderr.write(`svc: what was to be told cannot be written: ${message}\n`, () => resolve(1));
    });
    around.stderr.on('error', () => undefined);
    void runCli(args, io).then((code) => {
      around.stdout.write('', () => around.stderr.write('', () => resolve(code)));
    });
  });
}
