import { writeFile } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/client/index.js';
import { sleep } from '../lib/machine.js';
import { count, machineLine } from '../lib/report.js';
import { quantile } from '../lib/stats.js';
import { makeCities } from './cities.js';
import { Faults } from './faults.js';
import { Following } from './following.js';
import { judge, settled } from './judging.js';
import { options } from './options.js';
import { quarters, Sampling } from './sampling.js';
import { Starting } from './starting.js';
import { System } from './system.js';
import { Talking, type Talked } from './talking.js';
import { Working } from './working.js';

/**
 * `npm run bench:hour -- --minutes 60`: 500 sessions of the shipped agent that are talked to, over three workers and two apis, with
 * PostgreSQL and Redis, in 50 cities with folders, whose pools work through beads; meanwhile files are edited, workers killed, pools
 * resized, Redis and apis started again. Says whether anything was lost, what memory does, and how long starts take beside those in
 * the idle system. Ends with 1 when something was lost, or memory grew, or starts took more than twice as long.
 */
const IDLE_STARTS = 25;
const MAKERS = 6;
const FLAT = 1.1;
const SLOWER = 2;
const began = performance.now();
const say = (text: string): void => {
  const s = Math.round((performance.now() - began) / 1000);
  console.log(`${String(Math.floor(s / 60)).padStart(3)}:${String(s % 60).padStart(2, '0')}  ${text}`);
};

const wants = (options.sessions * 26 + 2_000) * 1024 ** 2;
if (freemem() < wants) say(`${(wants / 1024 ** 3).toFixed(0)} GB of memory should be free`);
const system = await System.start();
// Whoever has seen enough leaves no servers and no agents behind.
const interrupted = new Promise<false>((resolve) => ['SIGINT', 'SIGTERM'].forEach((signal) => process.once(signal, () => resolve(false))));
let passed = false;
try {
  passed = await Promise.race([hour(), interrupted]);
} finally {
  await system.stop();
}
process.exit(passed ? 0 : 1);

async function hour(): Promise<boolean> {
  const [one, two] = [system.urls, [...system.urls].reverse()];
  const clients = [one, two].map((url) => connect({ url, name: 'hour', timeoutMs: 60_000 }));
  const cities = await makeCities(clients[0]!, system.dataDir);
  say(`${machineLine()}; ${cities.length} cities`);
  const following = new Following(clients);
  await following.start(cities);
  const starting = new Starting(clients, following);
  const idle = await idleStarts(starting, cities);
  say(`a start in the idle system: ${shown(idle)}`);

  const talking = new Talking(clients, following);
  const working = new Working(clients, cities, following);
  const faults = new Faults(system, clients[0]!, cities, working, say);
  const made: Talked[] = [];
  const makers = performance.now();
  await Promise.all(
    Array.from({ length: MAKERS }, async (_, maker) => {
      for (let n = maker; n < options.sessions; n += MAKERS) made.push((await starting.start(cities[n % cities.length]!)).session);
    }),
  );
  say(`${made.length} sessions run after ${((performance.now() - makers) / 1000).toFixed(0)} s`);
  for (const session of made) talking.add(session);
  await system.rows('select pg_stat_statements_reset()');

  const sampling = new Sampling(system, say);
  sampling.start();
  talking.start();
  working.start();
  const from = performance.now();
  const until = from + options.minutes * 60_000;
  const load = { starts: [] as number[], faulty: [] as number[], failed: [] as string[] };
  await Promise.all([
    loadStarts(starting, cities, faults, load, until),
    (async () => {
      const pauseMs = Math.max(40_000, (options.minutes * 60_000) / 12);
      for (await sleep(pauseMs); performance.now() < until - pauseMs; await sleep(pauseMs)) await faults.next();
    })(),
    sleep(options.minutes * 60_000),
  ]);
  await Promise.all([talking.stop(), working.stop()]);
  await sampling.stop();
  const minutes = (performance.now() - from) / 60_000;
  const stuck = await settled(system);
  const judgement = await judge(system, { talking, working, following, faults });
  await keep();
  say(`closing ${made.length} sessions`);
  await eachOf(made, (session) => starting.close(session).catch((error: unknown) => load.failed.push(String(error))));
  await sleep(20_000);
  const after = await idleStarts(starting, cities);
  await following.stop();

  const wrong = [
    ...judgement.wrong,
    ...stuck,
    ...load.failed,
    ...faults.failed,
    ...talking.refused.map((why) => `a message was refused: ${why}`),
    ...working.failed.map((why) => `a bead was refused: ${why}`),
  ];
  const calm = [...idle, ...after];
  const slower = quantile(load.starts, 0.5) / quantile(calm, 0.5);
  const held = quarters(sampling.samples);
  const grown = held.filter(
    ({ what, second, last }) => /MB (resident|of heap)|^PostgreSQL|files|connections/.test(what) && last > second * FLAT,
  );
  const lines: [string, string][] = [
    ['time', `${minutes.toFixed(1)} minutes; ${count(made.length)} sessions, ${cities.length} cities, pools of ${options.pool}`],
    ['messages', `${count(talking.sent.size)}: ${count(judgement.answered)} delivered once and answered, ${judgement.cut} cut by a kill`],
    ['answers after', `${shown(talking.answerMs)}`],
    ['beads', `${count(judgement.beads)}, each closed once unless said below`],
    [
      'most at once',
      `${Math.max(...sampling.samples.map(({ hands }) => hands))} members of pools, ${Math.max(...sampling.samples.map(({ connections }) => connections))} connections`,
    ],
    ['events', `${count(following.events)} on ${cities.length} streams and the supervisor's; ${following.pauses} reconnections`],
    ['starts, idle', `before ${shown(idle)}; after ${shown(after)}`],
    ['starts, under load', `${shown(load.starts)}: ${slower.toFixed(2)} x (bar ${SLOWER})`],
    ['starts, beside faults', load.faulty.length === 0 ? 'none' : shown(load.faulty)],
    ...faults.log.map(({ at, what }): [string, string] => [`at ${((at - from) / 60_000).toFixed(1)} min`, what]),
    ...held.map(({ what, second, last }): [string, string] => [
      what,
      `${second.toFixed(0)} → ${last.toFixed(0)} (${(last / second).toFixed(2)} x)`,
    ]),
    ['cores', cores(sampling)],
    ['wrong', wrong.length === 0 ? 'nothing' : `${wrong.length}:`],
  ];
  const width = Math.max(...lines.map(([what]) => what.length));
  console.log(`\n${machineLine()}\n${lines.map(([what, text]) => `${what.padEnd(width)}  ${text}`).join('\n')}`);
  for (const text of wrong.slice(0, 40)) console.log(`  ${text}`);
  if (grown.length > 0) console.log(`grown: ${grown.map(({ what }) => what).join('; ')}`);
  return wrong.length === 0 && grown.length === 0 && slower <= SLOWER;
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const one = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: MAKERS }, one));
}

/** One after the other, in different cities. */
async function idleStarts(starting: Starting, cities: readonly string[]): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < IDLE_STARTS; n++) {
    const { session, ms } = await starting.start(cities[(n * 7) % cities.length]!);
    took.push(ms);
    await starting.close(session);
    await sleep(500);
  }
  return took;
}

async function loadStarts(
  starting: Starting,
  cities: readonly string[],
  faults: Faults,
  load: { starts: number[]; faulty: number[]; failed: string[] },
  until: number,
): Promise<void> {
  for (let n = 0; performance.now() < until; n++) {
    const asked = performance.now();
    const before = faults.log.length;
    try {
      const { session, ms } = await starting.start(cities[n % cities.length]!);
      const last = faults.log.at(-1);
      const beside = faults.busy || faults.log.length > before || (last !== undefined && asked - last.until < 10_000);
      (beside ? load.faulty : load.starts).push(ms);
      await starting.close(session);
    } catch (error) {
      load.failed.push(String(error));
    }
    await sleep(Math.max(0, options.starts * 1000 - (performance.now() - asked)));
  }
}

function shown(ms: readonly number[]): string {
  const at = (q: number): string => quantile(ms, q).toFixed(0);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, most ${Math.max(...ms).toFixed(0)} ms (${ms.length})`;
}

function cores({ samples }: Sampling): string {
  const [first, last] = [samples[0]!, samples.at(-1)!];
  const share = (of: 'api' | 'worker' | 'database'): string => ((1000 * (last.cpu[of] - first.cpu[of])) / (last.at - first.at)).toFixed(2);
  return `apis ${share('api')}, workers ${share('worker')}, database ${share('database')}`;
}

/** What the statements took, and how large the tables are: for whoever looks for what is dear. */
async function keep(): Promise<void> {
  if (options.keep === undefined) return;
  const statements = await system.rows(`
    select calls::int, round(total_exec_time)::int as ms, round((total_plan_time)::numeric)::int as plan_ms, round(mean_exec_time::numeric, 3) as mean, rows::int,
      regexp_replace(left(query, 400), '\\s+', ' ', 'g') as query
    from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) order by total_exec_time desc limit 60`);
  const tables = await system.rows(`
    select relname, n_live_tup::int as live, n_dead_tup::int as dead, pg_total_relation_size(relid)::float8 as bytes
    from pg_stat_user_tables order by 4 desc limit 25`);
  await writeFile(join(options.keep, 'statements.json'), JSON.stringify({ statements, tables }, null, 1));
}
