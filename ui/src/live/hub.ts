import workerUrl from './worker.ts?sharedworker&url';
import { signOuts } from '../api/signed-out.js';
import { newKey } from '../lib/wishes.js';
import { browser } from './around.js';
import type { Ways, Worker } from './link.js';
import { PageHub } from './page-hub.js';
import { Streams, type Listener } from './streams.js';
import { trusted } from './trusted.js';

/** A hidden page lets go of what nobody sees. */
const HIDDEN_MS = 60_000;

/** What this browser has for it. */
const ways: Ways = {
  worker: () => {
    if (typeof SharedWorker !== 'function' || !('locks' in navigator)) return undefined;
    try {
      return new SharedWorker(trusted(workerUrl) as URL, { type: 'module', name: 'svc' }) as unknown as Worker;
    } catch {
      return undefined;
    }
  },
  here: (receive) => {
    const streams = new Streams(browser);
    const listener: Listener = { tell: receive };
    queueMicrotask(() => streams.add(listener));
    return { send: (message) => streams.handle(listener, message), end: () => streams.remove(listener) };
  },
  lock: (name, then, shared = false) => void navigator.locks.request(name, { mode: shared ? 'shared' : 'exclusive' }, then),
  wait: (ms, then) => {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  name: () => `svc-page-${newKey()}`,
};

export const hub = new PageHub(ways, signOuts);

let timer: ReturnType<typeof setTimeout> | undefined;
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (document.hidden) timer = setTimeout(() => hub.sleep(), HIDDEN_MS);
  else hub.awake();
});
addEventListener('online', () => hub.wake());
