import { useSyncExternalStore } from 'react';
import { serviceClock } from './service-clock.js';

/** One timer for all times that are told as an age. */
const EVERY_MS = 10_000;
const listeners = new Set<() => void>();
let now = serviceClock.now();
let timer: ReturnType<typeof setInterval> | undefined;

function look(): void {
  now = serviceClock.now();
  for (const each of listeners) each();
}

/** The same one for each render: one that begins anew with each would see another time each time, and render again for that. */
function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  if (timer === undefined) {
    now = serviceClock.now();
    timer = setInterval(look, EVERY_MS);
  }
  return () => {
    listeners.delete(tell);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** By the clock of the service. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);
