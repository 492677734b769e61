import type { Fault } from './history.js';
import { Member } from './fleet.js';
import type { Harm, Harmed } from './harm.js';
import { ask } from './http.js';
import { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { RoundOptions } from './round.js';
import { heal, judge } from './rounds.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { sleep } from './sleep.js';
import { Stage, type StageOptions } from './stage.js';
import type { Violation } from './violations.js';
import { until } from './waiting.js';

/** What every round in a city tells, whatever else it counts. */
export interface CityRound {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly faults: number;
  readonly exits: readonly string[];
  /** What there was, by what it is called. */
  readonly counts: Readonly<Record<string, number>>;
}

interface Recorded {
  readonly seed: number;
  readonly faults: Fault[];
}

/** What tells one kind of rounds from another. */
export interface RoundKind<H extends Recorded> {
  readonly prefix: Exclude<StageOptions['prefix'], ''>;
  readonly draw: (role: Member['role'], random: Random) => string;
  /** A worker that is asked to end has this long. */
  readonly workerStopMs: number;
  /** Harm is done so much less often than the run says. */
  readonly pace?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly empty: (seed: number) => H;
  readonly check: (history: H) => readonly Violation[];
  readonly save: (history: H, file: string) => Promise<void>;
}

export interface Scene<H> {
  readonly history: H;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly now: () => number;
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly postgres: ChaosPostgres;
  readonly redis: ChaosRedis | undefined;
  readonly database: string;
  readonly city: { readonly name: string; readonly path: string };
  /** Done at the end, also of a round that is broken off; the fleet is gone by then. */
  readonly atEnd: (work: () => unknown) => void;
}

/** What happens in a round, from when its city runs on. */
export interface Play<H> {
  /** Before anything is harmed, with the city running. */
  readonly prepare: () => Promise<void>;
  readonly start: () => void;
  /** Made once clients have started. */
  readonly faults: () => Harm<Harmed>;
  readonly stop: () => Promise<void>;
  /** All is healed: what has to come to its end, and whatever else the judgement needs. Answers what did not. */
  readonly settle: () => Promise<readonly Violation[]>;
  readonly counts: (history: H) => Readonly<Record<string, number>>;
}

const CITY = 'town';
const READY_MS = 120_000;

/** One seed of a kind: two apis and two workers on one host, a city, harm for some seconds, healing, and the judgement. */
export async function playRound<H extends Recorded>(
  postgres: ChaosPostgres,
  redis: ChaosRedis | undefined,
  options: RoundOptions,
  kind: RoundKind<H>,
  playOf: (scene: Scene<H>) => Play<H>,
): Promise<CityRound> {
  const { seed } = options;
  const { prefix } = kind;
  const random = new Random(seed);
  const stage = await Stage.set(postgres, redis, options, {
    prefix,
    agents: true,
    ...(kind.environment === undefined ? {} : { environment: kind.environment }),
    draw: (role) => kind.draw(role, random),
    judge: (member, exit, recorder) => judge(member, exit, recorder, member.role === 'worker' ? kind.workerStopMs : undefined),
  });
  const { database, directory, recorder, exits, problems, fleet } = stage;
  const history: H = { ...kind.empty(seed), faults: recorder.history.faults };
  const make = (role: 'api' | 'worker'): Promise<Member[]> => Promise.all([1, 2].map((n) => Member.make(`${role}-${n}`, role, fleet)));
  const [apis, workers] = await Promise.all([make('api'), make('worker')]);
  const members = [...apis, ...workers];
  const endings: (() => unknown)[] = [];
  const unwatch = recorder.watchMachine();
  const city = { name: CITY, path: `${directory}/cities/${CITY}` };
  try {
    for (const member of members) member.start();
    await Promise.all(members.map((m) => m.ready()));
    await createCity(apis[0]!, postgres, database);
    const play = playOf({
      ...{ history, random, recorder, now: () => recorder.now(), apis, workers, postgres, database, city },
      redis: options.queue === 'redis' ? redis : undefined,
      atEnd: (work) => void endings.push(work),
    });
    await play.prepare();
    play.start();
    stage.armed = true;
    // One of each comes back armed; what is killed comes back with something else.
    for (const member of [apis[0]!, workers[0]!]) member.signal('SIGTERM');
    const faults = play.faults();
    faults.start(options.faultEveryMs * (kind.pace ?? 1));
    await sleep(options.seconds * 1_000);
    await faults.stop();
    await play.stop();
    stage.armed = false;
    await heal(members);
    problems.push(...(await play.settle()));
    const violations = [...problems, ...kind.check(history)];
    if (options.keep || violations.length > 0) await kind.save(history, `${options.directory}/${prefix}${seed}.jsonl`);
    return { seed, violations, faults: history.faults.length, exits, counts: play.counts(history) };
  } finally {
    unwatch();
    await Promise.all(members.map((m) => m.close()));
    for (const ending of endings) await ending();
    await stage.clear();
  }
}

async function createCity(api: Member, postgres: ChaosPostgres, database: string): Promise<void> {
  const made = await ask('POST', `${api.url}/v0/city`, { body: { dir: CITY, provider: 'loopback' } });
  if (made?.status !== 202) throw new Error(`the city is not made: ${made?.status} ${made?.body}`);
  const running = `select 1 from cities where running and not exists (select 1 from operations where finished_at is null)`;
  if (!(await until(READY_MS, async () => (await postgres.query(running, [], database)).length > 0)))
    throw new Error('the city does not come up');
}
