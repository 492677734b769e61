import { afterEach, expect, it, jest } from '@jest/globals';
import { ask, connect } from './api.js';

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
  jest.useRealTimers();
});

it('asks another replica for what one that says nothing does not answer in its share of the limit', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const asked: string[] = [];
  globalThis.fetch = ((input: string, { signal }: { signal: AbortSignal }) => {
    asked.push(input);
    if (asked.length > 1) return Promise.resolve(Response.json({ status: 'ok' }));
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  }) as typeof globalThis.fetch;
  const target = { url: 'http://silent.test', replicas: ['http://other.test'], key: undefined, source: 'for a test' };
  const api = connect(target, new AbortController().signal);
  const asking = ask(api, (signal) => api.http.GET('/health', { signal }), 40_000);
  await jest.advanceTimersByTimeAsync(20_000);
  expect(asked).toEqual(['http://silent.test/health', 'http://other.test/health']);
  expect((await asking).data).toEqual({ status: 'ok' });
});
