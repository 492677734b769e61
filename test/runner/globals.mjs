/** What `@jest/globals` is to a test file. The bindings are live: each file gets those of its own run. */
export let describe, it, test, expect, beforeAll, beforeEach, afterAll, afterEach, jest;

export function use(globals, { moduleMocker, fakeTimersModern: timers }) {
  ({ describe, it, test, expect, beforeAll, beforeEach, afterAll, afterEach } = globals);
  jest = {
    fn: (...args) => moduleMocker.fn(...args),
    spyOn: (...args) => moduleMocker.spyOn(...args),
    restoreAllMocks: () => moduleMocker.restoreAllMocks(),
    useFakeTimers: (options) => timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
    getTimerCount: () => timers.getTimerCount(),
  };
}
