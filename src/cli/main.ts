import { processIo } from './io.js';
import { runCli } from './program.js';

/** Ctrl-C once ends a command in good order, twice at once. A reader that has gone (`| head`) is a normal end. */
const interrupted = new AbortController();
const args = process.argv.slice(2);
if (args[0] !== 'serve') {
  process.on('SIGINT', () => {
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  });
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.stderr.on('error', () => undefined);

const code = await runCli(args, processIo(interrupted.signal));
process.exitCode = code;
// Idle connections to the API would keep the process for seconds; what was written is flushed first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
