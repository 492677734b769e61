/** One of the processes of `SVC_PROCESSES`: started by `serve`, and by nobody else. */
import './node-version.js';

// A terminal tells all processes of a start at once, and the one that has started this one decides what becomes of it.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);

await import('./processes/part.js');
