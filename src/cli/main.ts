import { run } from './run.js';

// Idle connections to the API would keep the process for seconds.
process.exit(await run(process.argv.slice(2), process));
