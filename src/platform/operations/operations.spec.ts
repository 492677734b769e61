import { expect, it } from '@jest/globals';
import { Metrics } from '../health/metrics.js';
import { Operations } from './operations.js';

/** What is measured of them, by whoever `answer` is asked in the place of the database. */
function measuredBy(answer: <T>(value: T) => Promise<T>): { metrics: Metrics; said(): Promise<string[]> } {
  const metrics = new Metrics();
  const repository = { countUnfinished: () => answer(new Map([['running', 3]])), waitingSeconds: () => answer(40) };
  new Operations(...([repository, {}, {}, {}, {}, metrics] as unknown as ConstructorParameters<typeof Operations>));
  const said = async (): Promise<string[]> => (await metrics.text()).split('\n').filter((line) => line.startsWith('svc_operations'));
  return { metrics, said };
}

// Guard: a process that could ask nobody told of its last answer for as long as it ran.
it('says how many operations there are and how long one has waited, and nothing while nobody answers', async () => {
  let hangs = false;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const { metrics, said } = measuredBy(async (value) => {
    if (hangs) await over;
    return value;
  });
  const all = ['svc_operations_oldest_waiting_seconds 40', 'svc_operations{state="accepted"} 0', 'svc_operations{state="running"} 3'];
  expect(await said()).toEqual(all);
  metrics.knownMs = 1;
  hangs = true;
  expect(await said()).toEqual([]);
  end();
  hangs = false;
  metrics.knownMs = 60_000;
  expect(await said()).toEqual(all);
}, 10_000);
