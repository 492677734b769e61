import { HEAP, MALLOC, POOL } from './memory-settings.js';

/** Replaces the process by itself with these settings of memory, under the same id. A channel to its parent does not survive that. */
const isStarted = process.execArgv.some((argument) => argument.startsWith('--max-semi-space-size'));
if (process.platform === 'linux' && !isStarted && process.execve !== undefined)
  process.execve(process.execPath, [process.execPath, ...HEAP, ...process.execArgv, ...process.argv.slice(1)], {
    ...MALLOC,
    ...process.env,
    ...POOL,
  });
