const [CITIES, SESSIONS] = [40, 232];
/** As many as there are ids of processes fit below the 2^31 that programs agree on. */
const FIRST = 1_000_000_000 + process.pid * (CITIES + SESSIONS);

/**
 * Numbers for groups of cities and users of sessions that no other run on this machine has: what runs as one of these users is
 * ended by its number. The last number of the cities is no user's.
 */
export const USER_NUMBERS = {
  cities: { first: FIRST, count: CITIES },
  sessions: { first: FIRST + CITIES, count: SESSIONS },
} as const;

export const isOfThisRun = (user: number): boolean => user >= FIRST && user < FIRST + CITIES + SESSIONS;
