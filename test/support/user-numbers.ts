const EACH = 100;
/** As many as there are ids of processes fit below the 2^31 that programs agree on. */
const FIRST = 1_000_000_000 + process.pid * 2 * EACH;

/**
 * Numbers for groups of cities and users of sessions that no other run on this machine has: what runs as one of these users is
 * ended by its number. The last number of the cities is no user's.
 */
export const USER_NUMBERS = {
  cities: { first: FIRST, count: EACH },
  sessions: { first: FIRST + EACH, count: EACH },
} as const;

export const isOfThisRun = (user: number): boolean => user >= FIRST && user < FIRST + 2 * EACH;
