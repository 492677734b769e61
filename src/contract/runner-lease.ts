/** Milliseconds for which the renewal of a runner holds, by the clock of the database. Who has not renewed it for longer has died, is stopped or is cut off. */
export const RUNNER_LEASE_MS = 10_000;
