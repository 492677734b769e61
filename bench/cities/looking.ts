import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { cpuSeconds, rssKb, sleep, treeSeconds } from '../lib/machine.js';
import { cityDirOf, treeMemory, type Program } from './program.js';

export interface Idle {
  /** Percent of one core. */
  readonly service: number;
  readonly database: number;
  readonly rssMb: number;
  readonly databaseMb: number;
}

export interface Watched {
  readonly pids: readonly number[];
  readonly postmaster: number;
}

/** What processes and the database take over so many seconds. */
export async function idle({ pids, postmaster }: Watched, seconds: number): Promise<Idle> {
  const used = (): [service: number, database: number] => [pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0), treeSeconds(postmaster)];
  const [service, database] = used();
  await sleep(seconds * 1000);
  const [serviceAfter, databaseAfter] = used();
  return {
    service: (100 * (serviceAfter - service)) / seconds,
    database: (100 * (databaseAfter - database)) / seconds,
    rssMb: Math.max(...pids.map(rssKb)) / 1024,
    databaseMb: treeMemory(postmaster).allKb / 1024,
  };
}

let edits = 0;

/** Writes another variable into a city's file, as an editor would. Answers its name. */
export async function edit(dataDir: string, city: string): Promise<string> {
  const name = `SEEN_${process.pid}_${++edits}`;
  const file = join(cityDirOf(dataDir, city), 'city.toml');
  const table = '\n[workspace.env]\n';
  const begun = (await readFile(file, 'utf8')).includes(table);
  await appendFile(file, `${begun ? '' : table}${name} = "1"\n`);
  return name;
}

/** Milliseconds until each of these cities runs with its variable, from `since` on. */
export async function noticed(
  program: Program,
  edited: ReadonlyMap<string, string>,
  { since, withinMs, everyMs }: { since: number; withinMs: number; everyMs: number },
): Promise<number[]> {
  const open = new Map(edited);
  const found: number[] = [];
  while (open.size > 0 && performance.now() - since < withinMs) {
    for (const [city, name] of open) {
      const answer = await program.ask('GET', `/v0/city/${city}/config/composed`).catch(() => undefined);
      if (answer === undefined || !(await answer.text()).includes(name)) continue;
      found.push(performance.now() - since);
      open.delete(city);
    }
    await sleep(everyMs);
  }
  return [...found, ...Array.from(open, () => Infinity)];
}

/** How many running cities each living process looks after; `''` for those that nobody does. */
export async function keepers(client: pg.Client): Promise<Map<string, number>> {
  const { rows } = await client.query<{ keeper: string; n: number }>(`
    select coalesce(p.id, '') as keeper, count(*)::int as n from cities c left join config_states s on s.stream_id = c.stream_id
    left join processes p on p.id = s.keeper and p.stopped_at is null and p.heartbeat_at > now() - interval '10 seconds'
    where c.running group by 1 order by 1`);
  return new Map(rows.map(({ keeper, n }) => [keeper, n]));
}

export async function citiesOf(client: pg.Client, keeper: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select c.name from cities c join config_states s on s.stream_id = c.stream_id where c.running and s.keeper = $1 order by c.name',
    [keeper],
  );
  return rows.map(({ name }) => name);
}

/** Some of them, from the first to the last. */
export function spread<T>(all: readonly T[], n: number): T[] {
  return Array.from({ length: Math.min(n, all.length) }, (_, i) => all[Math.floor((i * (all.length - 1)) / Math.max(1, n - 1))]!);
}
