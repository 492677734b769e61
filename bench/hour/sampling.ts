import { readdirSync } from 'node:fs';
import { treeMemory } from '../cities/program.js';
import { cpuSeconds, rssKb, sleep, treeSeconds } from '../lib/machine.js';
import { median } from '../lib/stats.js';
import type { Place, System } from './system.js';

const EVERY_MS = 10_000;

export interface OfProcess {
  readonly rssMb: number;
  readonly heapMb: number;
  readonly files: number;
}

export interface Sample {
  readonly at: number;
  readonly processes: ReadonlyMap<string, OfProcess>;
  readonly databaseMb: number;
  /** Without its buffers. */
  readonly databaseOwnMb: number;
  readonly redisMb: number;
  readonly connections: number;
  readonly tablesMb: number;
  /** Seconds of processor so far. */
  readonly cpu: { readonly api: number; readonly worker: number; readonly database: number };
  readonly sessions: number;
  readonly hands: number;
}

/** Looks at everything every ten seconds. */
export class Sampling {
  readonly samples: Sample[] = [];
  readonly #used = new Map<string, { readonly pid: number; readonly now: number; readonly before: number }>();
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(
    private readonly system: System,
    private readonly say: (text: string) => void,
  ) {}

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        this.samples.push(await this.#look());
        if (this.samples.length % 6 === 0) this.say(lineOf(this.samples));
      } catch (error) {
        this.say(`a sample failed: ${String(error)}`);
      }
      for (let n = 0; n < EVERY_MS / 500 && !this.#stop.signal.aborted; n++) await sleep(500);
    }
  }

  /** Of all processes that were in this place: as far as the last sample, where one was killed. */
  #seconds({ name, program }: Place): number {
    const known = this.#used.get(name) ?? { pid: program.pid, now: 0, before: 0 };
    const now = cpuSeconds(program.pid);
    const next =
      known.pid === program.pid ? { ...known, now: Math.max(now, known.now) } : { pid: program.pid, now, before: known.before + known.now };
    this.#used.set(name, next);
    return next.before + next.now;
  }

  async #look(): Promise<Sample> {
    const { system } = this;
    const processes = new Map<string, OfProcess>();
    for (const place of system.places) {
      const found = await ofProcess(place);
      if (found !== undefined) processes.set(place.name, found);
    }
    const [row] = await system.rows<{ connections: number; bytes: string; sessions: number; hands: number }>(`
      select (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
        pg_database_size(current_database()) as bytes,
        (select count(*)::int from sessions where live and kind = 'provider') as sessions,
        (select count(*)::int from sessions where live and agent = 'hand') as hands`);
    const seconds = (role: Place['role']): number =>
      system.places.filter((place) => place.role === role).reduce((sum, place) => sum + this.#seconds(place), 0);
    const database = treeMemory(system.postmaster);
    return {
      at: performance.now(),
      processes,
      databaseMb: database.allKb / 1024,
      databaseOwnMb: database.ownKb / 1024,
      redisMb: rssOf(system.redisPid),
      connections: row!.connections,
      tablesMb: Number(row!.bytes) / 1024 ** 2,
      cpu: { api: seconds('api'), worker: seconds('worker'), database: treeSeconds(system.postmaster) },
      sessions: row!.sessions,
      hands: row!.hands,
    };
  }
}

/** Undefined for one that is away. */
async function ofProcess({ program }: Place): Promise<OfProcess | undefined> {
  try {
    const text = await (await fetch(`http://127.0.0.1:${program.port}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
    const heap = Number(/^(?:svc_)?nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)/m.exec(text)?.[1] ?? Number.NaN);
    return { rssMb: rssOf(program.pid), heapMb: heap / 1024 ** 2, files: readdirSync(`/proc/${program.pid}/fd`).length };
  } catch {
    return undefined;
  }
}

function rssOf(pid: number): number {
  try {
    return rssKb(pid) / 1024;
  } catch {
    return 0;
  }
}

const mb = (n: number): string => `${n.toFixed(0)} MB`;

function lineOf(samples: readonly Sample[]): string {
  const last = samples.at(-1)!;
  const before = samples.at(-7) ?? samples[0]!;
  const share = (of: (sample: Sample) => number): string =>
    ((1000 * (of(last) - of(before))) / Math.max(1, last.at - before.at)).toFixed(2);
  const each = [...last.processes].map(([name, { rssMb, files }]) => `${name} ${rssMb.toFixed(0)}/${files}`).join(', ');
  return (
    `${last.sessions} sessions, ${last.hands} hands; MB/files: ${each}; database ${mb(last.databaseMb)}, ${last.connections} connections, ${mb(last.tablesMb)}; ` +
    `cores: apis ${share(({ cpu }) => cpu.api)}, workers ${share(({ cpu }) => cpu.worker)}, database ${share(({ cpu }) => cpu.database)}`
  );
}

export interface Quarters {
  readonly what: string;
  readonly second: number;
  readonly last: number;
}

/**
 * What was held in the second quarter of the time, and in the last. Of processes of the product it is the least: what comes on top of it between two
 * collections is garbage. Of connections, and of what the database holds for them, it is what half of the samples have: there are fewer while a worker
 * is away, and many after it.
 */
export function quarters(samples: readonly Sample[]): Quarters[] {
  const [from, to] = [samples[0]!.at, samples.at(-1)!.at];
  const part = (a: number, b: number): readonly Sample[] =>
    samples.filter(({ at }) => at >= from + a * (to - from) && at <= from + b * (to - from));
  const least = (values: readonly number[]): number => Math.min(...values);
  /** Of all processes of a role together: sessions move from one worker to another. Samples while one was away do not count. */
  const all =
    (role: string, count: number, of: (process: OfProcess) => number) =>
    (sample: Sample): number | undefined => {
      const own = [...sample.processes].filter(([name]) => name.startsWith(role));
      return own.length < count ? undefined : own.reduce((sum, [, process]) => sum + of(process), 0);
    };
  const rows: [string, (sample: Sample) => number | undefined, ((values: readonly number[]) => number)?][] = [
    ['apis, MB resident', all('api', 2, ({ rssMb }) => rssMb)],
    ['apis, MB of heap', all('api', 2, ({ heapMb }) => heapMb)],
    ['workers, MB resident', all('worker', 3, ({ rssMb }) => rssMb)],
    ['workers, MB of heap', all('worker', 3, ({ heapMb }) => heapMb)],
    ['PostgreSQL without its buffers, MB', ({ databaseOwnMb }) => databaseOwnMb, median],
    ['and with them, MB', ({ databaseMb }) => databaseMb, median],
    ['Redis, MB', ({ redisMb }) => redisMb],
    ['apis, open files', all('api', 2, ({ files }) => files)],
    ['workers, open files', all('worker', 3, ({ files }) => files)],
    ['connections', ({ connections }) => connections, median],
    ['database, MB on disk', ({ tablesMb }) => tablesMb],
  ];
  return rows.map(([what, of, held = least]) => {
    const quarter = (a: number, b: number): number =>
      held(
        part(a, b)
          .map(of)
          .filter((value) => value !== undefined),
      );
    return { what, second: quarter(0.25, 0.5), last: quarter(0.75, 1) };
  });
}
