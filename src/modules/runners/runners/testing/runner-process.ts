import { Module, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { AppConfig, loadConfig, type Config } from '../../../../platform/config/config.js';
import { ConfigModule } from '../../../../platform/config/config.module.js';
import { Db, PgPool } from '../../../../platform/database/database.js';
import { DatabaseModule } from '../../../../platform/database/database.module.js';
import { Failpoints, type FailpointName } from '../../../../platform/failpoints/failpoints.js';
import { HealthModule } from '../../../../platform/health/health.module.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import { LoggingModule } from '../../../../platform/logging/logging.module.js';
import { ProcessesModule } from '../../../../platform/processes/processes.module.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { NotifierModule } from '../../../../platform/streams/streams.module.js';
import { Clock } from '../../../../platform/time/clock.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { programParts } from '../../../sessions/launch/fingerprint.js';
import type { LaunchPlan } from '../../../sessions/launch/launch.js';
import { MessageQueue, type MessageRow, type NewMessage } from '../../../sessions/messages/message-queue.service.js';
import { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import type { NewSession, SessionPatch, SessionRow } from '../../../sessions/session-store/session-row.js';
import { AgentRuntimes, HostProcesses, LaunchPlans } from '../ports.js';
import { RunnerTimings } from '../runner-timings.js';
import { Runner } from '../runner.service.js';
import { RunnersWorkerModule } from '../runners.worker.module.js';
import { cutOff } from './cut-pool.js';
import { FakeProcesses, type FakeHost } from './fake-runtime.js';

/** A clock that a test can move on, as if the process had been paused meanwhile. */
export class TestClock extends Clock {
  skipMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.skipMs;
  }
}

/** What plans are made of in tests: only what marks a process. */
export class FakePlans extends LaunchPlans {
  prompt: string | undefined;
  restarts: LaunchPlan['restarts'] = {};

  async plan(city: CityScope, row: SessionRow): Promise<LaunchPlan> {
    const env = { SVC_SESSION_ID: row.id, SVC_CITY: city.name, SVC_GENERATION: String(row.generation), SVC_EPOCH: String(row.epoch) };
    const spec = { command: 'fake', args: [], cwd: '/', env, timeoutMs: 5_000 };
    return {
      spec,
      transport: 'acp',
      workDir: '/',
      fingerprint: 'f1',
      parts: { command: row.provider, ...programParts(row) },
      restarts: this.restarts,
      ...(this.prompt === undefined ? {} : { prompt: this.prompt }),
    };
  }
}

/**
 * What is waited for comes soon; a limit that a test does not mean to meet is too long for any machine to meet it. Those that
 * do are set with `time`, or made to have passed in the rows.
 */
export const TEST_TIMINGS: Partial<RunnerTimings> = {
  leaseMs: 30_000,
  renewMs: 300,
  acceptMs: 25_000,
  holdMs: 28_000,
  watchMs: 20,
  pollMs: 50,
  sweepMs: 50,
  overdueMs: 60_000,
  joinMs: 10,
  cancelMs: 60_000,
  handoverMs: 60_000,
  handoverLimitMs: 90_000,
  unconfirmedMs: 20,
  leftoversMs: 100,
};

export interface RunnerProcessOptions {
  readonly id: string;
  readonly host: FakeHost;
  readonly capacity?: number;
  readonly timings?: Partial<RunnerTimings>;
  /** Gives a runner up that was killed, as its lease's end would some seconds later. */
  readonly giveUp?: (runnerId: string) => Promise<unknown>;
}

/** A session that somebody wants at once. */
export const WANTED: NewSession = {
  title: 'loopback',
  kind: 'provider',
  template: 'loopback',
  provider: 'loopback',
  transport: 'acp',
  origin: 'manual',
  created_by: 'test',
  wake_request: 'create',
};

/** One worker's worth of runners on a fake host, without HTTP. With the capacity 0 it runs nothing and only fences others. */
export class RunnerProcess {
  private constructor(
    private readonly nest: TestingModule,
    private readonly id: string,
    private readonly host: FakeHost,
    readonly failpoints: Failpoints,
    readonly clock: TestClock,
    readonly plans: FakePlans,
    private readonly timings: RunnerTimings,
    private readonly giveUp: (runnerId: string) => Promise<unknown>,
  ) {}

  static async start(
    databaseUrl: string,
    { id, host, capacity = 100, timings, giveUp = async () => undefined }: RunnerProcessOptions,
  ): Promise<RunnerProcess> {
    const failpoints = new Failpoints();
    const clock = new TestClock();
    const plans = new FakePlans();
    const times = new RunnerTimings({ ...TEST_TIMINGS, ...timings });
    const logger = new AppLogger(createLogger('silent', { process: id }));
    const config = new AppConfig({
      ...(loadConfig({ SVC_DATABASE_URL: databaseUrl, SVC_PROVIDER_CHECK: 'off', SVC_RUNNER_ISOLATION: 'none' }, '/tmp') as Config),
      processId: id,
      role: 'worker',
      runnerCapacity: capacity,
    });
    @Module({
      imports: [
        ConfigModule.forRoot(config),
        LoggingModule.forRoot(logger),
        HealthModule,
        DatabaseModule.forRoot(databaseUrl, { failpoints, applicationName: id }),
        NotifierModule.forRoot(databaseUrl),
        ProcessesModule,
        RunnersWorkerModule,
      ],
    })
    class RootModuleOfTest {}
    const nest = await Test.createTestingModule({ imports: [RootModuleOfTest] })
      .setLogger(logger)
      .overrideProvider(AgentRuntimes)
      .useValue(host.runtimes(id))
      .overrideProvider(HostProcesses)
      .useValue(new FakeProcesses(host))
      .overrideProvider(LaunchPlans)
      .useValue(plans)
      .overrideProvider(Clock)
      .useValue(clock)
      .overrideProvider(RunnerTimings)
      .useValue(times)
      .compile();
    const started = new RunnerProcess(nest, id, host, failpoints, clock, plans, times, giveUp);
    try {
      await nest.init();
      return started;
    } catch (error) {
      await started.stop();
      throw error;
    }
  }

  get<T>(type: Type<T>): T {
    return this.nest.get(type, { strict: false });
  }
  get db(): Db {
    return this.get(Db);
  }
  get runner(): Runner {
    return this.get(Runner);
  }
  get sessions(): SessionChangesService {
    return this.get(SessionChangesService);
  }

  /** A session in the city that is wanted at once. */
  create(city: CityScope, session: Partial<NewSession> = {}): Promise<SessionRow> {
    return this.sessions.run(city, 'test', (changes) => changes.create({ ...WANTED, ...session }));
  }

  patch(city: CityScope, pk: number, set: SessionPatch): Promise<SessionRow> {
    return this.sessions.runInAnyState(city, 'test', async (changes) => changes.patch((await changes.lock(pk))!, set));
  }

  send(city: CityScope, pk: number, body: string, more: Partial<NewMessage> = {}): Promise<MessageRow> {
    return this.sessions.run(city, 'test', async (changes) => {
      const row = (await changes.lock(pk))!;
      return (await this.get(MessageQueue).enqueue(changes, row, { body, source: 'nudge', sender: 'test', ...more })).message;
    });
  }

  /** As a SIGKILL leaves it: it changes nothing any more, its processes live on. To be called once. */
  kill({ noticed = true } = {}): void {
    this.#killed = true;
    this.host.orphan(this.id);
    const { runnerId } = this.runner;
    cutOff(this.get(PgPool));
    if (noticed && runnerId !== undefined) void this.giveUp(runnerId);
  }

  /** Kills the process at a failpoint, at the first hit of it. */
  killAt(name: FailpointName): Promise<void> {
    const buried = new Promise<never>((_, reject) => (this.#bury = reject));
    buried.catch(() => undefined);
    return new Promise((resolve) => {
      this.failpoints.arm(name, () => {
        if (!this.#killed) this.kill();
        resolve();
        return buried;
      });
    });
  }

  /** As if somebody had committed what this topic is of. */
  signal(topic: string): void {
    this.get(Signals).markNow(topic);
  }

  /** Other times from now on. */
  time(overrides: Partial<RunnerTimings>): void {
    Object.assign(this.timings, overrides);
  }

  #killed = false;
  #bury: (reason: Error) => void = () => undefined;

  /** As at the end of a test: no turn is waited for, and nothing of one that was killed. */
  async end(): Promise<void> {
    this.time({ handoverMs: 0, handoverLimitMs: this.#killed ? 1_000 : 5_000 });
    await this.stop();
  }

  async stop(): Promise<void> {
    this.failpoints.disarm();
    this.#bury(new Error('it was killed here'));
    await this.get(Lifecycle).stop();
    await this.nest.close();
  }
}
