/**
 * Loaded into a process of the product (`node --import`): tells the bench, when asked, how its event loop, its memory
 * and its database queries are doing. It changes nothing that the product does.
 */
import { createRequire } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const { Client } = createRequire(import.meta.url)('pg');
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let queries = new Map();
const query = Client.prototype.query;
Client.prototype.query = function (config, ...rest) {
  const name = typeof config === 'string' ? config : (config?.name ?? config?.text ?? 'cursor');
  queries.set(name, (queries.get(name) ?? 0) + 1);
  return query.call(this, config, ...rest);
};

const late = (ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
const handlers = {
  /** Watching the event loop wakes the process a thousand times a second: only on demand. */
  reset({ loop }) {
    queries = new Map();
    if (loop) delay.enable();
    delay.reset();
  },
  read() {
    delay.disable();
    return { loopP50: late(delay.percentile(50)), loopP99: late(delay.percentile(99)), loopMax: late(delay.max), queries: [...queries] };
  },
  collect() {
    globalThis.gc?.();
    return process.memoryUsage();
  },
};

process.on('message', ({ id, method, params }) => {
  // A process of `SVC_PROCESSES` hears others as well.
  if (handlers[method] === undefined) return;
  void (async () => process.send?.({ id, result: await handlers[method](params) }))();
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
