import { check, lagging } from './checker.js';
import { ConfigEditor } from './config-editor.js';
import { readConfigs } from './config-final.js';
import { ConfigWriters } from './config-writers.js';
import { drawFailpoints } from './failpoints.js';
import { Faults } from './faults.js';
import { Member } from './fleet.js';
import { readFinal } from './final.js';
import { saveHistory, type History, type Resume, type Subscriber } from './history.js';
import { Random } from './random.js';
import type { Recorder } from './recorder.js';
import { heal, judge } from './rounds.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { sleep } from './sleep.js';
import { Stage } from './stage.js';
import { Client } from './subscribers.js';
import type { Violation } from './violations.js';
import { leasesEnded, readWork } from './work-final.js';
import { WorkWriters } from './work-writers.js';
import { Writers } from './writers.js';

export interface RoundOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly faultEveryMs: number;
  readonly queue: 'redis' | 'postgres';
  readonly directory: string;
  readonly keep: boolean;
}

export interface Round {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly deliveries: number;
  readonly writes: number;
  readonly operations: number;
  readonly changes: number;
  readonly edits: number;
  readonly faults: number;
  readonly exits: readonly string[];
  readonly lateness: { readonly p50: number; readonly p99: number; readonly max: number };
}

const HEAL_MS = 30_000;
const APIS = 3;
const WORKERS = 2;

/** One seed: a fleet over a fresh database, harm for some seconds, healing, and the judgement. */
export async function runRound(postgres: ChaosPostgres, redis: ChaosRedis | undefined, options: RoundOptions): Promise<Round> {
  const { seed } = options;
  const random = new Random(seed);
  const stage = await Stage.set(postgres, redis, options, {
    prefix: '',
    agents: false,
    draw: (role) => drawFailpoints(role, random),
    judge,
  });
  const { database, directory, recorder, exits, problems, fleet } = stage;
  const make = (role: 'api' | 'worker', n: number): Promise<Member>[] =>
    Array.from({ length: n }, (_, i) => Member.make(`${role}-${i + 1}`, role, fleet));
  const apis = await Promise.all(make('api', APIS));
  const workers = await Promise.all(make('worker', WORKERS));
  const members = [...apis, ...workers];
  const clients: Client[] = [];
  const watching = recorder.watchMachine();
  try {
    for (const member of members) member.start();
    await Promise.all(members.map((m) => m.ready()));
    const cities = cityNames(seed);
    const writers = new Writers(apis, random.fork(), recorder, new Set(cities.slice(0, 4)), `${directory}/cities`);
    for (const city of cities) await writers.create(city);
    await settled(postgres, database);
    const running = (): string[] => [...writers.cities].filter(([, state]) => state === 'running').map(([name]) => name);
    const work = new WorkWriters(apis, random.fork(), recorder, cities.slice(0, 2), running);
    await work.prepare(40, cities);
    const edited = cities.slice(1, 4);
    const configs = new ConfigWriters(apis, random.fork(), recorder, edited);
    const editor = new ConfigEditor(`${directory}/cities`, edited, random.fork(), recorder);
    await configs.prepare(cities, 6);
    clients.push(...subscribe(recorder, apis, random, writers, cities));
    stage.armed = true;
    // Half of the fleet comes back armed; what is killed comes back with something else.
    for (const member of [apis[0]!, apis[1]!, workers[0]!]) member.signal('SIGTERM');
    writers.start(8, 60);
    work.start(10, 40);
    configs.start(2, 100);
    editor.start(300);
    const faults = new Faults(
      { members, postgres, redis: options.queue === 'redis' ? redis : undefined, database },
      random.fork(),
      recorder,
      4_000,
    );
    faults.start(options.faultEveryMs);
    await sleep(options.seconds * 1_000);
    await faults.stop();
    await Promise.all([writers.stop(), work.stop(), configs.stop(), editor.stop()]);
    stage.armed = false;
    await writers.repair();
    await heal(members);
    const unfinished = await settled(postgres, database);
    if (unfinished.length > 0)
      problems.push({
        property: 'one terminal event',
        message: `${unfinished.length} operations did not end within ${HEAL_MS} ms of healing`,
        entries: unfinished,
      });
    const leases = await leasesEnded(postgres, database);
    if (leases.length > 0)
      problems.push({ property: 'lease kept', message: `${leases.length} leases have ended and were not taken back`, entries: leases });
    recorder.history.views.push(...(await readWork(postgres, database, apis, random, recorder)));
    const { ends, views } = await readConfigs(postgres, database, apis, random, recorder, { root: `${directory}/cities`, edited });
    recorder.history.ends.push(...ends);
    recorder.history.configs.push(...views);
    // Their sessions go on talking: from here on the log is what it is.
    await Promise.all(workers.map((worker) => worker.stop()));
    problems.push(...(await catchUp(recorder.history, postgres, database, clients, apis, random, recorder)));
    await Promise.all(clients.map((c) => c.close()));
    recorder.history.final = await readFinal(postgres, database);
    const violations = [...problems, ...check(recorder.history)];
    if (options.keep || violations.length > 0) await saveHistory(recorder.history, `${options.directory}/${seed}.jsonl`);
    const { history } = recorder;
    return {
      seed,
      violations,
      deliveries: history.connections.reduce((sum, c) => sum + c.frames.filter((f) => f.event.endsWith('event')).length, 0),
      writes: history.writes.length,
      operations: history.final.operations.length,
      changes: history.changes.length,
      edits: history.edits.filter((e) => e.outcome === 'acknowledged').length,
      faults: history.faults.length,
      exits,
      lateness: lateness(history),
    };
  } finally {
    watching();
    await Promise.all(clients.map((c) => c.close()));
    await Promise.all(members.map((m) => m.close()));
    await stage.clear();
  }
}

/** Eight cities; every fourth seed has so many that ids become opaque. */
function cityNames(seed: number): string[] {
  return Array.from({ length: seed % 4 === 3 ? 18 : 8 }, (_, i) => `city-${i + 1}`);
}

function subscribe(recorder: Recorder, apis: readonly Member[], random: Random, writers: Writers, cities: readonly string[]): Client[] {
  const clients: Client[] = [];
  const add = (subscriber: Omit<Subscriber, 'mustCatchUp'>): void => {
    const own = random.fork();
    const start = (): Resume => {
      if (own.chance(0.5)) return { how: 'head' };
      if (subscriber.city !== undefined) return { how: 'after_seq', position: '0' };
      return writers.cursors.length === 0 ? { how: 'head' } : { how: 'after_cursor', position: own.pick(writers.cursors) };
    };
    clients.push(new Client({ ...subscriber, mustCatchUp: true }, apis, own, recorder, start));
  };
  for (let i = 0; i < 16; i++) add({ name: `supervisor-${i}` });
  for (let i = 0; i < 3; i++) add({ name: `supervisor-typed-${i}`, types: ['chaos.one', 'city.created'] });
  for (let i = 0; i < 3; i++) add({ name: `supervisor-some-${i}`, cities: cities.slice(0, 4) });
  for (let i = 0; i < 15; i++) add({ name: `city-stream-${i}`, city: cities[i % cities.length]! });
  for (let i = 0; i < 3; i++) add({ name: `city-typed-${i}`, city: cities[i]!, types: ['chaos.two'] });
  return clients;
}

/** The operations that are still open after as long as healing may take. */
async function settled(postgres: ChaosPostgres, database: string): Promise<unknown[]> {
  const limit = performance.now() + HEAL_MS;
  for (;;) {
    const open = await postgres.query(
      'select id, kind, target, state, phase, attempts from operations where finished_at is null',
      [],
      database,
    );
    if (open.length === 0 || performance.now() > limit) return open;
    await sleep(100);
  }
}

/** Everybody stays connected until nothing is missing; some more clients resume from ids picked at random. */
async function catchUp(
  history: History,
  postgres: ChaosPostgres,
  database: string,
  clients: Client[],
  apis: readonly Member[],
  random: Random,
  recorder: Recorder,
): Promise<Violation[]> {
  for (const client of clients) client.settle();
  for (let i = 0; i < 20; i++) {
    const { subscriber, ids } = random.pick(clients);
    if (ids.length === 0) continue;
    const id = random.pick(ids);
    const probe = new Client(
      { ...subscriber, name: `probe-${i}-${subscriber.name}` },
      apis,
      random.fork(),
      recorder,
      () => ({ how: 'head' }),
      [id],
    );
    probe.settle();
    clients.push(probe);
  }
  const limit = performance.now() + HEAL_MS;
  for (;;) {
    history.final = await readFinal(postgres, database);
    const running = new Set(history.final.cities.filter((c) => c.running).map((c) => c.name));
    for (const { subscriber } of clients) if (subscriber.city !== undefined) subscriber.mustCatchUp = running.has(subscriber.city);
    const behind = lagging(history);
    if (behind.size === 0) return [];
    if (performance.now() > limit) {
      return [
        { property: 'reliable', message: `${behind.size} subscribers had not caught up ${HEAL_MS} ms after healing`, entries: [...behind] },
      ];
    }
    await sleep(250);
  }
}

/** From the answer to a write until a subscriber that was connected all the time had the event. */
function lateness(history: History): Round['lateness'] {
  const sent = new Map<string, number>();
  for (const w of history.writes)
    if (w.outcome === 'acknowledged' && w.seq !== undefined && !sent.has(w.marker)) sent.set(w.marker, w.from);
  const late: number[] = [];
  for (const { frames, openedAt } of history.connections) {
    for (const frame of frames) {
      const marker = /"message":"(m[^"]+)"/.exec(frame.data)?.[1];
      const from = marker === undefined ? undefined : sent.get(marker);
      if (from !== undefined && from > openedAt) late.push(frame.at - from);
    }
  }
  late.sort((a, b) => a - b);
  const at = (q: number): number => Math.round(late[Math.min(late.length - 1, Math.floor(q * late.length))] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
