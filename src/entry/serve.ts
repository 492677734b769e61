/** `svc serve`, `npm start` and the container's command: one process of the role that the environment names. */
import './node-version.js';

await import('./memory.js');
await import('./server.js');
