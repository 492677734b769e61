/** Signals within this time count as one: Ctrl-C under npm arrives twice, from the terminal and from npm. */
const SAME_SIGNAL_MS = 500;
/** The exit code for each signal: 128 and its number. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export type Ending = keyof typeof SIGNALS;

/** Calls `first` for the first signal. A later one calls `insisted` and ends the process at once. */
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
