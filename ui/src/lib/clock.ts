import { useSyncExternalStore } from 'react';

/** One timer for all times that are told as an age. */
const EVERY_MS = 10_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

export const useNow = (): number =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      timer ??= setInterval(() => {
        now = Date.now();
        for (const each of listeners) each();
      }, EVERY_MS);
      return () => {
        listeners.delete(tell);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    () => now,
  );
