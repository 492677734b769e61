import pg from 'pg';
import { startEmbedded } from '../../src/platform/embedded/embedded-postgres.js';
import { cpuSeconds, sleep, treeSeconds } from '../lib/machine.js';
import { citiesOf, edit, idle, keepers, noticed, spread } from './looking.js';
import { Program, postmasterOf } from './program.js';

const WORKERS = 3;
const SETTLE_MS = 20_000;
const PROBES = 20;

/** One api and three workers over the database that is there; the worker with the most cities is killed. */
export async function loseOne(
  { dataDir, logDir, idleSeconds }: { dataDir: string; logDir: string; idleSeconds: number },
  say: (text: string) => void,
): Promise<void> {
  const server = await startEmbedded(dataDir);
  const programs: Program[] = [];
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    const common = { dataDir, logDir, databaseUrl: server.url };
    const api = await Program.start({ ...common, name: 'api', role: 'api' });
    programs.push(api);
    const workers = new Map<string, Program>();
    for (let n = 1; n <= WORKERS; n++) {
      const worker = await Program.start({ ...common, name: `worker-${n}`, role: 'worker' });
      programs.push(worker);
      const { rows } = await client.query<{ id: string }>(
        `select id from processes where role = 'worker' order by started_at desc limit 1`,
      );
      workers.set(rows[0]!.id, worker);
    }
    await settled(client, workers.size);
    await sleep(SETTLE_MS);
    const held = await keepers(client);
    say(`three workers keep ${[...workers.keys()].map((id) => held.get(id) ?? 0).join(', ')}; nobody ${held.get('') ?? 0}`);
    const postmaster = postmasterOf(dataDir);
    for (const [name, pids] of [
      ['api', [api.pid]],
      ['workers', [...workers.values()].map(({ pid }) => pid)],
    ] as const) {
      const resting = await idle({ pids, postmaster }, idleSeconds / 2);
      say(
        `idle, ${name}: ${resting.service.toFixed(2)} % of a core, database ${resting.database.toFixed(2)} %, the largest ${resting.rssMb.toFixed(0)} MB`,
      );
    }
    const [lost, victim] = [...workers].sort(([a], [b]) => (held.get(b) ?? 0) - (held.get(a) ?? 0))[0]!;
    const others = [...workers.values()].filter((worker) => worker !== victim);
    const probed = spread(await citiesOf(client, lost), PROBES);
    await victim.end('SIGKILL');
    const since = performance.now();
    const edited = new Map<string, string>();
    for (const city of probed) edited.set(city, await edit(dataDir, city));
    const load = watchLoad(
      client,
      others.map(({ pid }) => pid),
      postmaster,
    );
    const waiting = noticed(api, edited, { since, withinMs: 120_000, everyMs: 200 });
    let taken = Infinity;
    while (performance.now() - since < 120_000) {
      const now = await keepers(client);
      if (others.length > 0 && (now.get('') ?? 0) === 0 && !now.has(lost)) {
        taken = performance.now() - since;
        break;
      }
      await sleep(100);
    }
    const seen = await waiting;
    const { core, database, statements } = await load();
    const after = await keepers(client);
    say(
      `${held.get(lost) ?? 0} cities of a killed worker: taken over after ${(taken / 1000).toFixed(1)} s, kept ${[...after.values()].join(', ')}`,
    );
    say(`their files, changed meanwhile, are used after ${(Math.max(...seen) / 1000).toFixed(1)} s`);
    say(
      `meanwhile at the most, in a second: ${core.toFixed(2)} cores of the others, ${database.toFixed(2)} of the database, ${statements} transactions`,
    );
  } finally {
    await client.end();
    for (const program of programs.reverse()) await program.end('SIGTERM');
    await server.stop();
  }
}

async function settled(client: pg.Client, workers: number): Promise<void> {
  const limit = performance.now() + 120_000;
  for (;;) {
    const held = await keepers(client);
    if ((held.get('') ?? 0) === 0) return;
    if (performance.now() > limit) throw new Error(`${workers} workers leave ${held.get('')} cities to nobody`);
    await sleep(200);
  }
}

/** The dearest second of a time, until it is asked for. */
function watchLoad(
  client: pg.Client,
  pids: readonly number[],
  postmaster: number,
): () => Promise<{ core: number; database: number; statements: number }> {
  const most = { core: 0, database: 0, statements: 0 };
  const stop = new AbortController();
  const look = async (): Promise<[number, number, number]> => {
    const { rows } = await client.query<{ n: string }>('select xact_commit as n from pg_stat_database where datname = current_database()');
    return [pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0), treeSeconds(postmaster), Number(rows[0]!.n)];
  };
  const loop = (async () => {
    let [before, at] = [await look(), performance.now()];
    while (!stop.signal.aborted) {
      await sleep(1_000);
      const [now, seconds] = [await look(), (performance.now() - at) / 1000];
      most.core = Math.max(most.core, (now[0] - before[0]) / seconds);
      most.database = Math.max(most.database, (now[1] - before[1]) / seconds);
      most.statements = Math.max(most.statements, Math.round((now[2] - before[2]) / seconds));
      [before, at] = [now, performance.now()];
    }
  })();
  return async () => {
    stop.abort();
    await loop;
    return most;
  };
}
