import { playRound, type CityRound, type RoundKind, type Scene } from './city-round.js';
import { drawOrdersFailpoints } from './failpoints.js';
import { ask } from './http.js';
import { calm } from './orders-calm.js';
import { checkOrders } from './orders-checker.js';
import { ORDERS, writeOrders } from './orders-city.js';
import { OrdersClients } from './orders-clients.js';
import { OrdersFaults } from './orders-faults.js';
import { readOrders, readStarts } from './orders-final.js';
import { emptyOrders, saveOrders, type OrdersHistory } from './orders-history.js';
import type { RoundOptions } from './round.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { until } from './waiting.js';

const READY_MS = 120_000;
const READ = `select 1 from orders where scoped_name = any($1::text[]) and enabled having count(*) = cardinality($1::text[])`;
const MOVE = `update orders set look_at = now(), next_due_at = now() where definition ->> 'trigger' = 'cron' and look_at is not null`;

const KIND: RoundKind<OrdersHistory> = {
  prefix: 'orders-',
  draw: drawOrdersFailpoints,
  // A worker ends its commands before it ends.
  workerStopMs: 12_000,
  empty: emptyOrders,
  check: checkOrders,
  save: saveOrders,
};

/** One seed with orders, which two apis and two workers fire and carry out. */
export function runOrdersRound(postgres: ChaosPostgres, redis: ChaosRedis | undefined, options: RoundOptions): Promise<CityRound> {
  return playRound(postgres, redis, options, KIND, (scene) => {
    const { history, random, recorder, now, apis, database, city } = scene;
    const clients = new OrdersClients(apis, city.name, random.fork(), history, now);
    const from = Date.now();
    const move = async (): Promise<void> => {
      history.moves.push({ at: now() });
      await postgres.query(MOVE, [], database);
    };
    return {
      prepare: async () => {
        await readFiles(scene);
        await readStarts(postgres, database, history);
      },
      start: () => clients.start(),
      faults: () => new OrdersFaults({ ...scene, move }, random.fork(), recorder),
      stop: () => clients.stop(),
      settle: async () => {
        const problems = await calm(postgres, database, clients, move);
        history.spans.push({ from, to: Date.now() });
        await readOrders(postgres, database, history, city, apis, random);
        return problems;
      },
      counts: ({ firings, asks, runs, traces }) => ({
        firings: firings.length,
        lost: firings.filter(({ outcome }) => outcome === 'lost').length,
        requests: asks.length,
        'hand-overs of events': firings.filter(({ event }) => event !== null).length,
        runs: runs.length,
        'commands begun': traces.filter(({ what }) => what === 'begin').length,
      }),
    };
  });
}

/** Gives the city the orders of the run, which every worker knows then. */
async function readFiles({ apis, postgres, database, city }: Scene<OrdersHistory>): Promise<void> {
  await writeOrders(city.path);
  const reloaded = await ask('POST', `${apis[0]!.url}/v0/city/${city.name}/config/reload`, { ms: 30_000 });
  if (reloaded?.status !== 200) throw new Error(`the orders are not read: ${reloaded?.status} ${reloaded?.body}`);
  const names = ORDERS.map(({ name }) => name);
  if (!(await until(READY_MS, async () => (await postgres.query(READ, [names], database)).length > 0)))
    throw new Error('no worker reads the orders');
}
