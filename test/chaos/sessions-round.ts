import { playRound, type CityRound, type RoundKind } from './city-round.js';
import { drawSessionsFailpoints } from './failpoints.js';
import type { RoundOptions } from './round.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { Calm } from './sessions-calm.js';
import { behind, checkSessions } from './sessions-checker.js';
import { SessionsClients } from './sessions-clients.js';
import { SessionsFaults } from './sessions-faults.js';
import { readEnd, readRows } from './sessions-final.js';
import { SessionFollower } from './sessions-followers.js';
import { emptySessions, saveSessions, type SessionsHistory, type StreamFormat } from './sessions-history.js';
import { ProcessWatch } from './sessions-processes.js';
import { until } from './waiting.js';

const SAMPLE_MS = 150;
const CATCH_UP_MS = 30_000;
/** What nobody holds any more is ended by whoever notices, at the latest after a lease. */
const ORPHANS_MS = 30_000;
const FORMATS: readonly StreamFormat[] = ['conversation', 'structured', 'raw'];

const KIND: RoundKind<SessionsHistory> = {
  prefix: 'sessions-',
  draw: drawSessionsFailpoints,
  // A worker hands its sessions over before it ends: that may take as long as a turn and the stop of an agent.
  workerStopMs: 26_000,
  pace: 1.5,
  empty: emptySessions,
  check: checkSessions,
  save: saveSessions,
};

/** One seed with sessions, whose agents two workers run for real. */
export function runSessionsRound(postgres: ChaosPostgres, redis: ChaosRedis | undefined, options: RoundOptions): Promise<CityRound> {
  return playRound(postgres, redis, options, KIND, (scene) => {
    const { history, random, recorder, now, apis, database, city, atEnd } = scene;
    const followers: SessionFollower[] = [];
    const follow = (session: string): void => {
      if (followers.length >= 30) return;
      const count = followers.length < 9 ? 3 : 1;
      for (let i = 0; i < count; i++) {
        const format = FORMATS[(followers.length + i) % 3]!;
        const follower = { name: `${session}-${i}`, session, format };
        followers.push(new SessionFollower(follower, city.name, apis, random.fork(), history, now));
      }
    };
    const clients = new SessionsClients(apis, city.name, random.fork(), history, now, follow);
    let watch!: ProcessWatch;
    return {
      prepare: async () => {
        watch = await ProcessWatch.of(postgres, database, now, history.samples);
        atEnd(() => watch.stop());
        atEnd(() => Promise.all(followers.map((f) => f.close())));
        atEnd(() => watch.endAll());
        for (let i = 0; i < 4; i++) await clients.create(random);
        watch.start(SAMPLE_MS);
      },
      start: () => clients.start(),
      faults: () => new SessionsFaults({ ...scene, watch }, random.fork(), recorder),
      stop: () => clients.stop(),
      settle: async () => {
        const problems = await new Calm(postgres, database, clients, random.fork()).run();
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
        await readEnd(postgres, database, history, city, apis, random);
        return problems;
      },
      counts: ({ sessions, messages, interactions, follows }) => ({
        sessions: sessions.length,
        processes: sessions.reduce((sum, { generation }) => sum + generation, 0),
        'messages delivered': messages.filter(({ status }) => status === 'delivered').length,
        'questions answered': interactions.filter(({ status }) => status === 'answered').length,
        frames: follows.reduce((sum, { frames }) => sum + frames.length, 0),
      }),
    };
  });
}

function heldBy(postgres: ChaosPostgres, database: string): Promise<{ key: string }[]> {
  return postgres.query(`select id || '/' || generation as key from sessions where runner_id is not null`, [], database);
}
