import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { cpuSeconds, sleep, treeSeconds } from '../lib/machine.js';
import { machineLine } from '../lib/report.js';
import { quantile } from '../lib/stats.js';
import { cityNamed, create } from './creating.js';
import { edit, idle, keepers, noticed, spread } from './looking.js';
import { loseOne } from './losing.js';
import { embeddedUrl, Program } from './program.js';

/**
 * `npm run bench:cities`: real cities, made over HTTP by several clients at once with their folders and files, in a program as `npm start`
 * begins it: how fast, what they take while nothing happens, when a changed file is noticed, and how long a restart and the loss of a worker
 * take. `-- --cities 3000 --clients 8 --idle 60 --only create,idle,notice,restart,workers --data FOLDER` (kept, and gone on with).
 */
const { values: options } = parseArgs({
  options: {
    cities: { type: 'string', default: '300' },
    clients: { type: 'string', default: '8' },
    idle: { type: 'string', default: '60' },
    only: { type: 'string', default: 'create,idle,notice,restart,workers' },
    data: { type: 'string' },
  },
});
const [cities, clients, idleSeconds] = [options.cities, options.clients, options.idle].map(Number) as [number, number, number];
const wanted = new Set(options.only.split(','));
const say = (text: string): void => void console.log(text);
/** PostgreSQL cleans up after what was made. */
const SETTLE_MS = 75_000;
const PROBES = 20;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function withClient<T>(dataDir: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: embeddedUrl(dataDir) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function made(program: Program): Promise<number> {
  const answer = (await (await program.ask('GET', '/v0/cities')).json()) as { items: { running: boolean }[] };
  return answer.items.filter(({ running }) => running).length;
}

async function creating(program: Program): Promise<void> {
  const from = await made(program);
  const used = (): [service: number, database: number] => [cpuSeconds(program.pid), treeSeconds(program.postmaster)];
  const [service, database] = used();
  const { rates, failed, p50, p95 } = await create(program, { from, upto: cities, clients, say });
  const each = ([now, before]: [number, number]): string => ((1000 * (now - before)) / (cities - from)).toFixed(1);
  const after = used();
  say(`of a processor, each: ${each([after[0], service])} ms of the service, ${each([after[1], database])} ms of the database`);
  say(`creates a second, each hundred: ${rates.map((rate) => rate.toFixed(1)).join(' ')}`);
  say(
    `the first hundred / the last: ${(rates[0]! / rates.at(-1)!).toFixed(2)}; p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms; ${failed} failed`,
  );
}

async function resting(program: Program): Promise<void> {
  await sleep(SETTLE_MS);
  const found = await idle({ pids: [program.pid], postmaster: program.postmaster }, idleSeconds);
  const both = found.service + found.database;
  say(`idle: service ${found.service.toFixed(2)} %, database ${found.database.toFixed(2)} %, both ${both.toFixed(2)} % of a core`);
  say(`memory: service ${found.rssMb.toFixed(0)} MB, database ${found.databaseMb.toFixed(0)} MB`);
}

async function noticing(program: Program, dataDir: string): Promise<void> {
  const took: number[] = [];
  for (const city of spread(
    Array.from({ length: cities }, (_, n) => cityNamed(n)),
    PROBES,
  )) {
    const since = performance.now();
    const edited = new Map([[city, await edit(dataDir, city)]]);
    took.push(...(await noticed(program, edited, { since, withinMs: 30_000, everyMs: 10 })));
  }
  say(
    `a changed file is used after ${quantile(took, 0.5).toFixed(0)} ms (median), ${Math.max(...took).toFixed(0)} ms (slowest of ${took.length})`,
  );
}

async function restarting(program: Program, dataDir: string, start: () => Promise<Program>): Promise<Program> {
  await program.end('SIGKILL');
  const edited = new Map<string, string>();
  for (const city of spread(
    Array.from({ length: cities }, (_, n) => cityNamed(n)),
    PROBES,
  ))
    edited.set(city, await edit(dataDir, city));
  const since = performance.now();
  const again = await start();
  const ready = performance.now() - since;
  if ((await made(again)) < cities) throw new Error('cities have got lost');
  const served = performance.now() - since;
  const waiting = noticed(again, edited, { since, withinMs: 180_000, everyMs: 100 });
  const kept = await withClient(dataDir, async (client) => {
    while (((await keepers(client)).get('') ?? 0) > 0) await sleep(100);
    return performance.now() - since;
  });
  const seen = await waiting;
  say(`kill -9 and start: ready after ${seconds(ready)}, all running after ${seconds(served)}, kept after ${seconds(kept)}`);
  say(
    `files that were changed meanwhile are used after ${seconds(quantile(seen, 0.5))} (median), ${seconds(Math.max(...seen))} (slowest of ${seen.length})`,
  );
  return again;
}

const dataDir = options.data ?? (await mkdtemp(join(tmpdir(), 'svc-cities-')));
const logDir = join(dataDir, 'logs');
mkdirSync(logDir, { recursive: true });
const start = (): Promise<Program> => Program.start({ name: 'embedded', dataDir, logDir });
say(`${machineLine()}; ${cities} real cities in ${dataDir}`);
let program = await start();
try {
  if (wanted.has('create')) await creating(program);
  if (wanted.has('idle')) await resting(program);
  if (wanted.has('notice')) await noticing(program, dataDir);
  if (wanted.has('restart')) program = await restarting(program, dataDir, start);
  if (wanted.has('restart') && wanted.has('idle')) await resting(program);
  await program.end('SIGTERM');
  if (wanted.has('workers')) await loseOne({ dataDir, logDir, idleSeconds }, say);
} finally {
  await program.end('SIGTERM');
  if (options.data === undefined) await rm(dataDir, { recursive: true, force: true });
}
process.exit(0);
