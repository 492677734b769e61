import { sql } from 'kysely';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import type { AgentConfig, CityConfig, NamedSessionConfig } from '../../../files/composition/city-config.js';
import type { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { OfferedWorkRepository } from '../../../work/hooks/offered-work.repository.js';
import { OfferedWork } from '../../../work/hooks/offered-work.service.js';
import { EffectiveSuspension } from '../../../sessions/launch/effective-suspension.service.js';
import type { LaunchService } from '../../../sessions/launch/launch.service.js';
import { sessionFixture, type SessionProcess, type SessionFixture } from '../../../sessions/messages/testing/session-fixture.js';
import { RosterRepository } from '../../../configuration/roster/roster.repository.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import { NamedSessions } from '../../../sessions/session-names/named-sessions.service.js';
import { SessionNamesRepository } from '../../../sessions/session-names/session-names.repository.js';
import { EmptyRunsRepository } from '../../../sessions/session-store/empty-runs.repository.js';
import { EmptyRunsService } from '../../../sessions/session-store/empty-runs.service.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import type { PgPool } from '../../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { WorkRepository } from '../../../work/work/work.repository.js';
import { WorkService } from '../../../work/work/work.service.js';
import { ClaimsRepository } from '../../../work/hooks/claims.repository.js';
import { ClaimsOfSessionsRepository } from '../../../sessions/session-store/claims-of-sessions.repository.js';
import { ClaimsOfSessions } from '../../../sessions/session-store/claims-of-sessions.service.js';
import { PoolExecutor } from '../pool-executor.js';
import type { PoolDecision } from '../pool-facts.js';
import { PoolPass } from '../pool-pass.service.js';
import { PoolStateRepository } from '../pool-state.repository.js';
import { ScaleChecks } from '../scale-checks.js';
import { WaitDeliveryRepository } from '../wait-delivery.repository.js';
import { WaitDelivery } from '../wait-delivery.js';

/** What one worker has of this room. */
export interface PoolProcess {
  readonly pass: PoolPass;
  readonly repository: PoolStateRepository;
  readonly claims: ClaimsOfSessions;
  readonly waits: WaitDelivery;
}

export interface PoolFixture extends SessionFixture {
  /** What the city's files say; a test may change it. */
  readonly config: { agents: AgentConfig[]; named_sessions: NamedSessionConfig[] } & CityConfig;
  readonly one: PoolProcess;
  readonly two: PoolProcess;
  readonly work: WorkService;
  readonly claimsSql: ClaimsRepository;
  /** Passes until nothing changes. */
  settle(at?: PoolProcess): Promise<PoolDecision[]>;
  pass(at?: PoolProcess): Promise<readonly PoolDecision[]>;
  bead(metadata?: Record<string, string>, more?: { assignee?: string; title?: string }): Promise<string>;
  open(): Promise<SessionRow[]>;
  /** The process answers and is idle since `idleMs`, as a runner would have recorded it. */
  ready(pk: number, idleMs?: number): Promise<void>;
  /** As a runner that carries out whatever is wished. */
  obey(): Promise<void>;
}

export function agentConfig(name: string, more: Record<string, unknown> = {}): AgentConfig {
  const slash = name.lastIndexOf('/');
  return {
    name: name.slice(slash + 1),
    qualified_name: name,
    dir: slash === -1 ? '' : name.slice(0, slash),
    binding: '',
    origin: 'inline',
    source: 'city.toml',
    provider: 'loopback',
    ...more,
  };
}

/** A city with sessions, two workers that look after them, and no runner but what the test says. */
export async function poolFixture(
  given: {
    executor?: typeof PoolExecutor;
    repository?: typeof PoolStateRepository;
    launch?: Partial<LaunchService>;
    /** The revision that the city runs, as it is read in a transaction or before one. */
    revision?: (tx: Tx | undefined) => number;
    /** What the first worker has heard of scale checks, and the second. */
    scale?: readonly ReadonlyMap<string, number | undefined>[];
  } = {},
): Promise<PoolFixture> {
  const fixture = await sessionFixture();
  const { db, city } = fixture;
  const pool: PgPool = fixture.pools[0]!;
  const config = {
    workspace: { name: 'alpha', prefix: 'al', suspended_on_start: false },
    providers: {},
    resolved_providers: {},
    agents: [agentConfig('worker')],
    named_sessions: [],
    rigs: [],
  } as unknown as PoolFixture['config'];
  const revision = given.revision ?? (() => 1);
  const known = (_city: unknown, tx?: Tx) => Promise.resolve({ config, revision: revision(tx), hash: '', index: 0 });
  const reads = { known } as unknown as ConfigReadsService;
  await sql`insert into agents (stream_id, name, base, rig, kind) values (${city.streamId}, 'worker', 'worker', '', 'agent'),
    (${city.streamId}, 'boss', 'boss', '', 'agent')`.execute(db);
  const log = new AppLogger(createLogger('silent'));
  const work = new WorkService(new Transactions(db, new Failpoints()), new EventLog(new MovedStreams()), new WorkRepository());
  const build = (process: SessionProcess, nth: number): PoolProcess => {
    const repository = new (given.repository ?? PoolStateRepository)(db);
    const claims = new ClaimsOfSessions(new ClaimsOfSessionsRepository(db));
    const named = new NamedSessions(process.sessions, new SessionNamesRepository(db));
    const suspension = new EffectiveSuspension(new RosterService(new RosterRepository(db)), reads);
    const executor = new (given.executor ?? PoolExecutor)(repository, process.queue, named, log);
    const scales = { limitMs: 10_000, answers: () => given.scale?.[nth] ?? new Map() } as unknown as ScaleChecks;
    const launch = (given.launch ?? { fingerprint: () => 'now', startHash: () => 'now' }) as LaunchService;
    const pass = new PoolPass(
      repository,
      executor,
      process.sessions,
      reads,
      suspension,
      new OfferedWork(new OfferedWorkRepository(db)),
      launch,
      scales,
      claims,
      new EmptyRunsService(db, new EmptyRunsRepository()),
    );
    pass.betweenMs = 0;
    return { pass, repository, claims, waits: new WaitDelivery(new WaitDeliveryRepository(db), process.sessions, process.queue, work) };
  };
  const one = build(fixture.a, 0);
  const two = build(fixture.b, 1);
  const look = async (at: PoolProcess): Promise<readonly PoolDecision[]> =>
    (await at.pass.run((await at.repository.city(city.streamId))!)).decisions;
  const open = async (): Promise<SessionRow[]> =>
    (await sql<SessionRow>`select * from sessions where stream_id = ${city.streamId} and state <> 'closed' order by pk`.execute(db)).rows;
  return Object.assign(Object.create(fixture) as SessionFixture, {
    ...fixture,
    config,
    one,
    two,
    work,
    claimsSql: new ClaimsRepository(pool),
    pass: (at = one) => look(at),
    settle: async (at = one) => {
      const all: PoolDecision[] = [];
      for (let n = 0; n < 20; n++) {
        const done = await look(at);
        if (done.length === 0) return all;
        all.push(...done);
      }
      throw new Error(`it does not come to rest: ${JSON.stringify(all.slice(-10))}`);
    },
    bead: async (metadata: Record<string, string> = { 'gc.routed_to': 'worker' }, more: { assignee?: string; title?: string } = {}) => {
      const { value } = await work.run(city, 'tester', (w) => w.create({ rig: '', title: more.title ?? 'work', metadata, ...more }));
      return value.id;
    },
    open,
    ready: async (pk: number, idleMs = 0) => {
      await sql`update sessions set state = 'active', runner_id = 'r1', live = true, generation = generation + 1, ready_at = clock_timestamp() - interval '10 minutes',
        wake_request = null, launch_hash = 'now' where pk = ${pk}`.execute(db);
      await sql`update session_logs set activity = 'idle', activity_at = clock_timestamp() - ${idleMs}::float8 * interval '1 millisecond',
        generation = (select generation from sessions where pk = ${pk}) where session_pk = ${pk}`.execute(db);
    },
    obey: async () => {
      for (const { pk, stop_request, stop_reason } of await open()) {
        if (stop_request === null) continue;
        await fixture.within(pk, async (changes, row) => {
          const set = { runner_id: null, live: false, stop_request: null, stop_reason: null, stop_requested_at: null, stop_deadline: null };
          if (stop_request === 'close') await changes.close(row, (stop_reason ?? 'operator') as never);
          else await changes.move(row, 'sleep', { reason: stop_reason ?? 'drained', set });
        });
      }
    },
  });
}
