import { loadConfig } from '../../platform/config/config.js';
import { backUp } from './backing-up.js';
import { restore } from './restoring.js';

/** Arguments: `backup` or `restore`, the file, and `--replace`. */
const [what, file, replace] = process.argv.slice(2) as [string, string, string | undefined];
const tell = (line: string): void => console.error(line);
try {
  const config = loadConfig(process.env, process.cwd());
  console.log(what === 'backup' ? await backUp(config, file, tell) : await restore(config, file, replace !== undefined, tell));
} catch (error) {
  console.error(`svc ${what}: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
// What a failed attempt has left open shall not keep it.
process.exit();
