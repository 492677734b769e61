/** Ctrl-C under npm arrives twice, from the terminal and passed on by npm, as does what a whole group of processes gets. Only a later one is impatience. */
const SAME_SIGNAL_MS = 500;
/** What ends a process, and what it says then: 128 and the number of it. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export type Ending = keyof typeof SIGNALS;

/** Calls `first` for the first signal. Who insists later ends the process at once, after `insisted`. */
export function onSignals(first: (signal: Ending) => void, insisted?: () => void): void {
  let signalled: number | undefined;
  for (const signal of Object.keys(SIGNALS) as Ending[])
    process.on(signal, () => {
      const now = performance.now();
      if (signalled === undefined) {
        signalled = now;
        first(signal);
      } else if (now - signalled >= SAME_SIGNAL_MS) {
        insisted?.();
        process.exit(SIGNALS[signal]);
      }
    });
}
