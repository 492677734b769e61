import type { Guard } from './guard.js';

const TEST = 'src/platform/telemetry/telemetry.spec.ts';

/** What is told of a process elsewhere. */
export const TELEMETRY: readonly Guard[] = [
  {
    guard: 'Nothing is loaded where nothing is to be sent.',
    file: 'src/platform/telemetry/telemetry.ts',
    find: 'if (config.telemetry === undefined) return undefined;',
    replace: "if (config.telemetry === undefined) return void (await import('./sdk.js'));",
    test: TEST,
    name: 'is not loaded',
  },
  {
    guard: 'What goes on after a span is no part of it.',
    file: 'src/platform/telemetry/spans.ts',
    find: 'return span?.over === true ? undefined : span;',
    replace: 'return span;',
    test: TEST,
    name: 'have no parts once they are over',
  },
  {
    guard: 'An endpoint that is away costs a line a minute.',
    file: 'src/platform/telemetry/away.ts',
    find: 'if (this.now() - this.#saidAt < QUIET_MS) return;',
    replace: 'if (this.now() - this.#saidAt < QUIET_MS && this.#unsaid < 0) return;',
    test: TEST,
    name: 'is told of once a minute',
  },
  {
    guard: 'Probes have no spans.',
    file: 'src/platform/http/request-spans.ts',
    find: 'if (UNTOLD.has(url)) return;',
    replace: "if (UNTOLD.has(url) && url === '') return;",
    test: TEST,
    name: 'are made of requests, in the trace of whoever asks, but for probes',
  },
];
