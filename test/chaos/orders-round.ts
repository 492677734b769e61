import { drawOrdersFailpoints } from './failpoints.js';
import { Member } from './fleet.js';
import { ask } from './http.js';
import { calm } from './orders-calm.js';
import { checkOrders } from './orders-checker.js';
import { ORDERS, writeOrders } from './orders-city.js';
import { OrdersClients } from './orders-clients.js';
import { OrdersFaults } from './orders-faults.js';
import { readOrders, readStarts } from './orders-final.js';
import { emptyOrders, saveOrders } from './orders-history.js';
import { Random } from './random.js';
import type { RoundOptions } from './round.js';
import { heal, judge } from './rounds.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { sleep } from './sleep.js';
import { Stage } from './stage.js';
import type { Violation } from './violations.js';

export interface OrdersRound {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly firings: number;
  readonly lost: number;
  readonly asks: number;
  readonly events: number;
  readonly runs: number;
  readonly commands: number;
  readonly faults: number;
  readonly exits: readonly string[];
}

const CITY = 'town';
const READY_MS = 120_000;
/** A worker ends its commands before it ends. */
const STOP_MS = 12_000;
const READ = `select 1 from orders where scoped_name = any($1::text[]) and enabled having count(*) = cardinality($1::text[])`;
const MOVE = `update orders set look_at = now(), next_due_at = now() where definition ->> 'trigger' = 'cron' and look_at is not null`;

/** One seed with orders: two apis and two workers, which fire them and carry them out, harm, healing, and the judgement. */
export async function runOrdersRound(postgres: ChaosPostgres, redis: ChaosRedis | undefined, options: RoundOptions): Promise<OrdersRound> {
  const { seed } = options;
  const random = new Random(seed);
  const stage = await Stage.set(postgres, redis, options, {
    prefix: 'orders-',
    agents: true,
    draw: (role) => drawOrdersFailpoints(role, random),
    judge: (member, exit, recorder) => judge(member, exit, recorder, member.role === 'worker' ? STOP_MS : undefined),
  });
  const { database, directory, recorder, exits, problems, fleet } = stage;
  const now = (): number => recorder.now();
  const history = { ...emptyOrders(seed), faults: recorder.history.faults };
  const city = { name: CITY, path: `${directory}/cities/${CITY}` };
  const make = (role: 'api' | 'worker'): Promise<Member[]> => Promise.all([1, 2].map((n) => Member.make(`${role}-${n}`, role, fleet)));
  const [apis, workers] = await Promise.all([make('api'), make('worker')]);
  const members = [...apis, ...workers];
  const unwatch = recorder.watchMachine();
  const move = async (): Promise<void> => {
    history.moves.push({ at: now() });
    await postgres.query(MOVE, [], database);
  };
  try {
    for (const member of members) member.start();
    await Promise.all(members.map((m) => m.ready()));
    const from = Date.now();
    await createCity(apis[0]!, postgres, database, city.path);
    await readStarts(postgres, database, history);
    const clients = new OrdersClients(apis, CITY, random.fork(), history, now);
    clients.start();
    stage.armed = true;
    // One of each comes back armed; what is killed comes back with something else.
    for (const member of [apis[0]!, workers[0]!]) member.signal('SIGTERM');
    const target = { apis, workers, postgres, redis: options.queue === 'redis' ? redis : undefined, database, move };
    const faults = new OrdersFaults(target, random.fork(), recorder);
    faults.start(options.faultEveryMs);
    await sleep(options.seconds * 1_000);
    await faults.stop();
    await clients.stop();
    stage.armed = false;
    await heal(members);
    problems.push(...(await calm(postgres, database, clients, move)));
    history.spans.push({ from, to: Date.now() });
    await readOrders(postgres, database, history, city, apis, random);
    const violations = [...problems, ...checkOrders(history)];
    if (options.keep || violations.length > 0) await saveOrders(history, `${options.directory}/orders-${seed}.jsonl`);
    return {
      seed,
      violations,
      firings: history.firings.length,
      lost: history.firings.filter(({ outcome }) => outcome === 'lost').length,
      asks: history.asks.length,
      events: history.firings.filter(({ event }) => event !== null).length,
      runs: history.runs.length,
      commands: history.traces.filter(({ what }) => what === 'begin').length,
      faults: history.faults.length,
      exits,
    };
  } finally {
    unwatch();
    await Promise.all(members.map((m) => m.close()));
    await stage.clear();
  }
}

/** A city with the orders of the run, which every worker knows. */
async function createCity(api: Member, postgres: ChaosPostgres, database: string, path: string): Promise<void> {
  const made = await ask('POST', `${api.url}/v0/city`, { body: { dir: CITY, provider: 'loopback' } });
  if (made?.status !== 202) throw new Error(`the city is not made: ${made?.status} ${made?.body}`);
  const running = `select 1 from cities where running and not exists (select 1 from operations where finished_at is null)`;
  await until('the city does not come up', async () => (await postgres.query(running, [], database)).length > 0);
  await writeOrders(path);
  const reloaded = await ask('POST', `${api.url}/v0/city/${CITY}/config/reload`, { ms: 30_000 });
  if (reloaded?.status !== 200) throw new Error(`the orders are not read: ${reloaded?.status} ${reloaded?.body}`);
  const names = ORDERS.map(({ name }) => name);
  await until('no worker reads the orders', async () => (await postgres.query(READ, [names], database)).length > 0);
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + READY_MS;
  while (!(await condition())) {
    if (performance.now() > limit) throw new Error(what);
    await sleep(200);
  }
}
