import { processIo, type Surroundings } from './io.js';
import { runCli } from './cli.js';

/**
 * Runs one command line to its end in what surrounds it: the exit code, once what was written is taken. Ctrl-C once ends a
 * command in good order, twice at once. A reader that has gone (`| head`) is a normal end.
 */
export function run(args: readonly string[], around: Surroundings): Promise<number> {
  const interrupted = new AbortController();
  return new Promise((resolve) => {
    if (args[0] !== 'serve') {
      around.on('SIGINT', () => {
        if (interrupted.signal.aborted) resolve(130);
        interrupted.abort();
      });
    }
    around.stdout.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EPIPE' ? 0 : 1));
    around.stderr.on('error', () => undefined);
    void runCli(args, processIo(around, interrupted.signal)).then((code) => {
      around.stdout.write('', () => around.stderr.write('', () => resolve(code)));
    });
  });
}
