import { check } from './checker.js';
import type { CityRound } from './city-round.js';
import { loadHistory } from './history.js';
import { checkMessages } from './messages-checker.js';
import { loadMessages } from './messages-history.js';
import { runMessagesRound } from './messages-round.js';
import { checkOrders } from './orders-checker.js';
import { loadOrders } from './orders-history.js';
import { runOrdersRound } from './orders-round.js';
import type { RoundOptions } from './round.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { checkSessions } from './sessions-checker.js';
import { loadSessions } from './sessions-history.js';
import { runSessionsRound } from './sessions-round.js';
import type { Violation } from './violations.js';

interface Kind {
  readonly run: (postgres: ChaosPostgres, redis: ChaosRedis | undefined, options: RoundOptions) => Promise<CityRound>;
  readonly judge: (file: string) => Promise<readonly Violation[]>;
}

/** Rounds that take place in one city. */
export const CITY_KINDS: Readonly<Record<string, Kind>> = {
  sessions: { run: runSessionsRound, judge: async (file) => checkSessions(await loadSessions(file)) },
  orders: { run: runOrdersRound, judge: async (file) => checkOrders(await loadOrders(file)) },
  messages: { run: runMessagesRound, judge: async (file) => checkMessages(await loadMessages(file)) },
};

/** Judges a saved history again; its name says of which kind it is. */
export async function judged(file: string): Promise<readonly Violation[]> {
  const kind = Object.keys(CITY_KINDS).find((name) => file.includes(`${name}-`));
  return kind === undefined ? check(await loadHistory(file)) : CITY_KINDS[kind]!.judge(file);
}
