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

const range = ({ first, count }: { readonly first: number; readonly count: number }): string => `{ first = ${first}, count = ${count} }`;
/** As `host.toml` names them. */
export const USERS_OF_HOST = `[users]\ncities = ${range(USER_NUMBERS.cities)}\nsessions = ${range(USER_NUMBERS.sessions)}\n`;

export const isOfThisRun = (user: number): boolean => user >= FIRST && user < FIRST + CITIES + SESSIONS;
