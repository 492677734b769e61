import { constants } from 'node:os';
import { loadConfig, type AppConfig } from '../../platform/config/config.js';
import { explain } from '../explain.js';
import { onSignals, type Ending } from '../signals.js';
import { backUp } from './backing-up.js';
import { restore } from './restoring.js';

/** Whoever stops it gets what a program says that a signal has ended: 128 and the number of it. */
class Interrupted extends Error {
  constructor(readonly signal: Ending) {
    super(`interrupted (${signal})`);
  }
}

/** Arguments: `backup` or `restore`, the file, and `--replace`. */
const [what, file, replace] = process.argv.slice(2) as [string, string, string | undefined];
const tell = (line: string): void => console.error(line);
// Ended at once it would leave a copy of the database with its password, and the server that it has started for it. Who insists says so again.
const interruption = new AbortController();
onSignals((ending) => interruption.abort(new Interrupted(ending)));
const { signal } = interruption;
let config: AppConfig | undefined;
try {
  config = loadConfig(process.env, process.cwd());
  console.log(
    what === 'backup'
      ? await backUp(config, file, replace !== undefined, tell, signal)
      : await restore(config, file, replace !== undefined, tell, signal),
  );
} catch (error) {
  console.error(`svc ${what}: ${config === undefined ? (error as Error).message : explain(error, config)}`);
  process.exitCode = error instanceof Interrupted ? 128 + constants.signals[error.signal] : 1;
}
// What a failed attempt has left open shall not keep it.
process.exit();
