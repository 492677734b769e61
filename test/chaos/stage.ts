import { mkdir, rm } from 'node:fs/promises';
import { letGo } from './config-final.js';
import type { Exit, FleetOptions, Member } from './fleet.js';
import { Recorder } from './recorder.js';
import type { RoundOptions } from './round.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import type { Violation } from './violations.js';

const HEARTBEAT_MS = 1_000;

export interface StageOptions {
  /** Tells its database and its folder from those of other kinds of rounds. */
  readonly prefix: '' | 'sessions-' | 'orders-' | 'messages-';
  readonly agents: boolean;
  /** Settings of its members beyond the usual. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly draw: (role: Member['role']) => string;
  readonly judge: (member: Member, exit: Exit, recorder: Recorder) => Violation[];
}

/** What a round takes place on: a database and a folder of its own, and how the members of its fleet are made and watched. */
export class Stage {
  /** Members that start from now on may end at a failpoint. */
  armed = false;
  readonly exits: string[] = [];
  readonly problems: Violation[] = [];
  readonly recorder: Recorder;
  readonly fleet: FleetOptions;

  private constructor(
    private readonly postgres: ChaosPostgres,
    redis: ChaosRedis | undefined,
    { seed, queue }: RoundOptions,
    readonly database: string,
    readonly directory: string,
    { agents, environment = {}, draw, judge }: StageOptions,
  ) {
    const recorder = new Recorder(seed, HEARTBEAT_MS);
    const target = new URL(postgres.url(database));
    this.recorder = recorder;
    this.fleet = {
      database,
      credentials: `${target.username}:${target.password}`,
      postgresPort: () => postgres.port,
      redisUrl: queue === 'redis' ? redis?.url : undefined,
      directory,
      heartbeatMs: HEARTBEAT_MS,
      agents,
      environment,
      failpoints: (member) => (this.armed ? draw(member.role) : ''),
      onTerminate: (member) => recorder.fault('terminate', member.name),
      onExit: (member, exit) => {
        recorder.fault(`exit ${exit.how}${member.armed === '' ? '' : ` (${member.armed})`}`, member.name);
        this.exits.push(exit.how === 'SIGKILL' && !exit.asked ? `failpoint ${/[^,=]+(?==kill)/.exec(member.armed)?.[0] ?? '?'}` : exit.how);
        this.problems.push(...judge(member, exit, recorder));
        if (exit.pid !== undefined) void letGo(postgres, database, exit.pid);
      },
    };
  }

  static async set(postgres: ChaosPostgres, redis: ChaosRedis | undefined, round: RoundOptions, options: StageOptions): Promise<Stage> {
    const database = `chaos_${options.prefix.replace('-', '_')}${process.pid}_${round.seed}`;
    const directory = `${round.directory}/${options.prefix}${round.seed}`;
    await rm(directory, { recursive: true, force: true });
    await mkdir(`${directory}/cities`, { recursive: true });
    await postgres.createDatabase(database);
    if (round.queue === 'redis') await redis?.flush();
    return new Stage(postgres, redis, round, database, directory, options);
  }

  async clear(): Promise<void> {
    await this.postgres.restart();
    await this.postgres.dropDatabase(this.database);
    await rm(`${this.directory}/cities`, { recursive: true, force: true });
  }
}
