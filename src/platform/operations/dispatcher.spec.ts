import { expect, it, jest } from '@jest/globals';
import { audited, AuditedRequest, onBehalfOf, type AuditEntry } from '../audit/audited-request.js';
import type { Failpoints } from '../failpoints/failpoints.js';
import type { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import type { AppLogger } from '../logging/logger.js';
import type { JobQueue } from '../queue/job-queue.js';
import { OperationDispatcher } from './dispatcher.js';

const failpoints = { hit: async () => undefined } as unknown as Failpoints;
const log = { debug: () => undefined } as unknown as AppLogger;

/** Jobs that were put into the queue, and on whose behalf the runner of this process was told each time; it has so many free places. */
async function dispatched(free: number | 'no runner'): Promise<{ queued: number; told: unknown[] }> {
  const add = jest.fn(async () => undefined);
  const told: unknown[] = [];
  const lifecycle = { onStop: () => undefined } as unknown as Lifecycle;
  const dispatcher = new OperationDispatcher({ add } as unknown as JobQueue, failpoints, log, lifecycle, new Metrics());
  if (free !== 'no runner') dispatcher.serveWith({ free, deliver: async () => void told.push(audited()) });
  onBehalfOf(new AuditedRequest({ request_id: 'r' } as AuditEntry), () => dispatcher.dispatch('city.create', 'req-1'));
  await new Promise(setImmediate);
  return { queued: add.mock.calls.length, told };
}

// Guards: a process with a free place puts no job into the queue, and what it runs there is on nobody's behalf.
it('an operation is run where it was accepted while a place is free there, else it goes into the queue', async () => {
  expect(await dispatched(1)).toEqual({ queued: 0, told: [undefined] });
  expect(await dispatched(0)).toEqual({ queued: 1, told: [] });
  expect(await dispatched('no runner')).toEqual({ queued: 1, told: [] });
});
