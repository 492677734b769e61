import type { Surroundings } from './stream.js';

/** A browser, for streams. */
export const browser: Surroundings = {
  fetch: (url, init) => fetch(url, init),
  now: () => performance.now(),
  random: () => Math.random(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    }),
};
