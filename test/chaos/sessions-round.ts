import { drawSessionsFailpoints } from './failpoints.js';
import { Member, type Exit } from './fleet.js';
import { ask } from './http.js';
import { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { RoundOptions } from './round.js';
import { heal, judge } from './rounds.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { Calm } from './sessions-calm.js';
import { behind, checkSessions } from './sessions-checker.js';
import { SessionsClients } from './sessions-clients.js';
import { SessionsFaults } from './sessions-faults.js';
import { readEnd, readRows } from './sessions-final.js';
import { SessionFollower } from './sessions-followers.js';
import { emptySessions, saveSessions, type StreamFormat } from './sessions-history.js';
import { ProcessWatch } from './sessions-processes.js';
import { sleep } from './sleep.js';
import { Stage } from './stage.js';
import type { Violation } from './violations.js';

export interface SessionsRound {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly sessions: number;
  readonly processes: number;
  readonly delivered: number;
  readonly answered: number;
  readonly frames: number;
  readonly faults: number;
  readonly exits: readonly string[];
}

const CITY = 'town';
const SAMPLE_MS = 150;
const CATCH_UP_MS = 30_000;
/** What nobody holds any more is ended by whoever notices, at the latest after a lease. */
const ORPHANS_MS = 30_000;
const FORMATS: readonly StreamFormat[] = ['conversation', 'structured', 'raw'];

/** One seed with sessions: two apis and two workers that run agents for real, harm to all of them, healing, and the judgement. */
export async function runSessionsRound(
  postgres: ChaosPostgres,
  redis: ChaosRedis | undefined,
  options: RoundOptions,
): Promise<SessionsRound> {
  const { seed } = options;
  const random = new Random(seed);
  const stage = await Stage.set(postgres, redis, options, {
    prefix: 'sessions-',
    agents: true,
    draw: (role) => drawSessionsFailpoints(role, random),
    judge: judged,
  });
  const { database, directory, recorder, exits, problems, fleet } = stage;
  const now = (): number => recorder.now();
  const history = { ...emptySessions(seed), faults: recorder.history.faults };
  const make = (role: 'api' | 'worker'): Promise<Member[]> => Promise.all([1, 2].map((n) => Member.make(`${role}-${n}`, role, fleet)));
  const [apis, workers] = await Promise.all([make('api'), make('worker')]);
  const members = [...apis, ...workers];
  const followers: SessionFollower[] = [];
  const unwatch = recorder.watchMachine();
  const [{ id: deployment } = { id: '' }] = await postgres.query<{ id: string }>('select deployment_id()::text as id', [], database);
  const watch = new ProcessWatch(deployment, now, history.samples);
  try {
    for (const member of members) member.start();
    await Promise.all(members.map((m) => m.ready()));
    await createCity(apis[0]!, postgres, database);
    const follow = (session: string): void => {
      if (followers.length >= 30) return;
      const count = followers.length < 9 ? 3 : 1;
      for (let i = 0; i < count; i++) {
        const format = FORMATS[(followers.length + i) % 3]!;
        const follower = { name: `${session}-${i}`, session, format };
        followers.push(new SessionFollower(follower, CITY, apis, random.fork(), history, now));
      }
    };
    const clients = new SessionsClients(apis, CITY, random.fork(), history, now, follow);
    for (let i = 0; i < 4; i++) await clients.create(random);
    watch.start(SAMPLE_MS);
    clients.start();
    stage.armed = true;
    // One of each comes back armed; what is killed comes back with something else.
    for (const member of [apis[0]!, workers[0]!]) member.signal('SIGTERM');
    const faults = new SessionsFaults(
      { apis, workers, postgres, redis: options.queue === 'redis' ? redis : undefined, watch },
      random.fork(),
      recorder,
    );
    faults.start(options.faultEveryMs * 1.5);
    await sleep(options.seconds * 1_000);
    await faults.stop();
    await clients.stop();
    stage.armed = false;
    await heal(members);
    problems.push(...(await new Calm(postgres, database, clients, random.fork()).run()));
    for (const follower of followers) follower.settle();
    await until(CATCH_UP_MS, async () => {
      await readRows(postgres, database, history);
      return behind(history).length === 0;
    });
    await until(ORPHANS_MS, async () => {
      const held = new Set((await heldBy(postgres, database)).map(({ key }) => key));
      history.leftovers.splice(0, Infinity, ...watch.sample().processes.filter((p) => !held.has(`${p.session}/${p.generation}`)));
      return history.leftovers.length === 0;
    });
    watch.stop();
    await Promise.all(followers.map((f) => f.close()));
    await readEnd(postgres, database, history, { name: CITY, path: `${directory}/cities/${CITY}` }, apis, random);
    const violations = [...problems, ...checkSessions(history)];
    if (options.keep || violations.length > 0) await saveSessions(history, `${options.directory}/sessions-${seed}.jsonl`);
    return {
      seed,
      violations,
      sessions: history.sessions.length,
      processes: history.sessions.reduce((sum, { generation }) => sum + generation, 0),
      delivered: history.messages.filter(({ status }) => status === 'delivered').length,
      answered: history.interactions.filter(({ status }) => status === 'answered').length,
      frames: history.follows.reduce((sum, { frames }) => sum + frames.length, 0),
      faults: history.faults.length,
      exits,
    };
  } finally {
    unwatch();
    watch.stop();
    await Promise.all(followers.map((f) => f.close()));
    await Promise.all(members.map((m) => m.close()));
    // What a killed worker may have left when a run is broken off.
    for (const { pid } of watch.sample().processes) process.kill(pid, 'SIGKILL');
    await stage.clear();
  }
}

/** A worker hands its sessions over before it ends: that may take as long as a turn and the stop of an agent. */
function judged(member: Member, exit: Exit, recorder: Recorder): Violation[] {
  return judge(member, exit, recorder, member.role === 'worker' ? 26_000 : undefined);
}

async function createCity(api: Member, postgres: ChaosPostgres, database: string): Promise<void> {
  const answer = await ask('POST', `${api.url}/v0/city`, { body: { dir: CITY, provider: 'loopback' } });
  if (answer?.status !== 202) throw new Error(`the city is not made: ${answer?.status} ${answer?.body}`);
  const ready = await until(30_000, async () => {
    const sql = `select 1 from cities where running and not exists (select 1 from operations where finished_at is null)`;
    return (await postgres.query(sql, [], database)).length > 0;
  });
  if (!ready) throw new Error('the city does not come up');
}

function heldBy(postgres: ChaosPostgres, database: string): Promise<{ key: string }[]> {
  return postgres.query(`select id || '/' || generation as key from sessions where runner_id is not null`, [], database);
}

async function until(ms: number, condition: () => Promise<boolean>): Promise<boolean> {
  const limit = performance.now() + ms;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() > limit) return false;
    await sleep(250);
  }
}
