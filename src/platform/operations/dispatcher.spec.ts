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

/** Jobs that were put into the queue, and on whose behalf the runner of this process was told, which then takes this operation. */
async function dispatched(takes: string, stopping = false): Promise<{ queued: number; told: unknown[] }> {
  const add = jest.fn(async () => undefined);
  const told: unknown[] = [];
  const begin = async (): Promise<string | undefined> => {
    told.push(audited());
    return takes === 'nothing' ? undefined : takes;
  };
  const lifecycle = { onStop: () => undefined, stopping } as unknown as Lifecycle;
  const dispatcher = new OperationDispatcher({ add } as unknown as JobQueue, failpoints, log, lifecycle, new Metrics());
  if (takes !== 'no runner') dispatcher.serveWith({ begin });
  onBehalfOf(new AuditedRequest({ request_id: 'r' } as AuditEntry), () => dispatcher.dispatch('city.create', 'req-1'));
  await new Promise(setImmediate);
  return { queued: add.mock.calls.length, told };
}

// Guards: what this process takes is in no queue, and on behalf of no request; all else is in the queue.
it.each([
  ['req-1', false, { queued: 0, told: [undefined] }],
  ['req-0', false, { queued: 1, told: [undefined] }],
  ['nothing', false, { queued: 1, told: [undefined] }],
  ['no runner', false, { queued: 1, told: [] }],
  ['req-1', true, { queued: 1, told: [] }],
])('an operation goes into the queue unless this process takes it: takes %s, stopping %s', async (takes, stopping, expected) => {
  expect(await dispatched(takes, stopping)).toEqual(expected);
});
