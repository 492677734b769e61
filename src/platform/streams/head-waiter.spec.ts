import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';

import type { Principal } from '../../contract/principal.js';
import type { AppConfig } from '../config/config.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { Metrics } from '../health/metrics.js';
import { Lifecycle } from '../health/lifecycle.js';
import { StreamLimits } from '../http/rate-limits.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { EventStreams } from './event-streams.js';
import { clientGone, HeadWaiter } from './head-waiter.js';
import type { StreamHub } from './hub.js';
import type { KeyWatch } from './key-watch.js';
import { UnsentLimit } from './unsent-limit.js';

const NO_KEYS = { add: () => () => undefined } as unknown as KeyWatch;

function aWaiter(head: number) {
  const state = { head };
  const logger = new AppLogger(createLogger('silent', {}));
  const lifecycle = new Lifecycle(logger);
  const hub = { stream: (name: string) => (name === 'alpha' ? state : undefined) } as unknown as StreamHub;
  const streams = new EventStreams(
    hub,
    {} as AppConfig,
    new Failpoints(),
    NO_KEYS,
    new UnsentLimit(logger, new Metrics(), {} as AppConfig),
  );
  const limits = new StreamLimits({ key: 2, city: 2 });
  return { state, lifecycle, streams, limits, waiter: new HeadWaiter(hub, NO_KEYS, limits, streams, lifecycle) };
}
/** Longer than any test may take: whoever waits this long was not woken. */
const NEVER = 600_000;

describe('waiting for a head', () => {
  it('ends at once when the head is there already', async () => {
    await aWaiter(5).waiter.above('alpha', 4, NEVER);
  });

  it('ends when the head moves above the position, not when it reaches it', async () => {
    const { waiter, state } = aWaiter(3);
    let ended = false;
    const waiting = waiter.above('alpha', 4, NEVER).then(() => (ended = true));
    state.head = 4;
    await sleep(120);
    expect(ended).toBe(false);
    state.head = 5;
    await waiting;
  });

  it('ends when the time is over, also for a stream nobody knows', async () => {
    await aWaiter(3).waiter.above('beta', 0, 60);
  });

  it('ends when the client goes away and when the process stops', async () => {
    const { waiter, lifecycle } = aWaiter(0);
    const gone = new AbortController();
    const first = waiter.above('alpha', 0, NEVER, gone.signal);
    gone.abort();
    await first;
    const second = waiter.above('alpha', 0, NEVER);
    await lifecycle.stop();
    await second;
    await waiter.above('alpha', 0, NEVER);
  });
});

const limited = (keyId: string): Principal => ({ actor: keyId, keyId, scope: 'read', cities: ['alpha'] });
/** Until it is told that the client has left. */
function asked(waiter: HeadWaiter, caller: Principal, wait = '5m'): { answer: Promise<unknown>; leave: () => void } {
  const socket = new EventEmitter();
  const response = Object.assign(new EventEmitter(), { destroyed: false, req: { socket } }) as unknown as ServerResponse;
  const answer = waiter.readAgain('alpha', 0, { index: '0', wait }, clientGone(response, caller));
  return { answer: answer.catch((error: unknown) => String(error)), leave: () => void response.emit('close') };
}

describe('reads that wait', () => {
  // Guard: nobody makes a replica carry reads without end.
  it('are as many of a key, and of the keys of a city, as it may have streams', async () => {
    const { waiter, limits, streams } = aWaiter(0);
    const first = [asked(waiter, limited('a')), asked(waiter, limited('a'))];
    expect(streams.open).toBe(2);
    expect(await asked(waiter, limited('a'), '1ms').answer).toContain(
      'rate_limited: too many requests of this key: 2 streams open at once',
    );
    expect(await asked(waiter, limited('b'), '1ms').answer).toContain('rate_limited: too many requests of all keys of this city');
    // What streams are opened is counted with them.
    expect(limits.admit(limited('a'), 'alpha', () => undefined)).toBeDefined();
    first[0]!.leave();
    await first[0]!.answer;
    const next = asked(waiter, limited('b'));
    expect(streams.open).toBe(2);
    for (const one of [first[1]!, next]) {
      one.leave();
      expect(await one.answer).toBe(true);
    }
    expect(streams.open).toBe(0);
  });

  // Guard: all of them together are bounded, too.
  it('are as many as a replica carries streams', async () => {
    const { waiter, limits, streams, state } = aWaiter(0);
    streams.most = 1;
    const first = asked(waiter, limited('a'));
    expect(await asked(waiter, limited('b'), '1ms').answer).toContain('this replica carries 1 streams');
    expect(limits.admit(limited('b'), 'alpha', (leave) => leave())).toBeUndefined();
    state.head = 1;
    expect(await first.answer).toBe(true);
    expect(await asked(waiter, limited('b')).answer).toBe(true);
  });
});
