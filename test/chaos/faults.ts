import type { Member } from './fleet.js';
import { Harm, type Choice, type Harmed } from './harm.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';

export interface Target extends Harmed {
  readonly members: readonly Member[];
  readonly database: string;
}

/** Harm to what serves the log. */
export class Faults extends Harm<Target> {
  constructor(
    target: Target,
    random: Random,
    recorder: Recorder,
    private readonly longestPauseMs: number,
  ) {
    super(target, random, recorder);
  }

  protected members(): readonly Member[] {
    return this.target.members;
  }

  protected choices(): readonly Choice[] {
    const { random } = this;
    const member = random.pick(this.target.members);
    return [
      [4, () => this.lasting('kill', member.name, async () => member.signal('SIGKILL'))],
      [2, () => this.pause(member, random.int(500, this.longestPauseMs))],
      [2, () => this.#terminate(member)],
      [2, () => this.postgres(random.int(100, 1_000))],
      [2, () => this.#listenKilled()],
      [3, () => this.blackhole(member)],
      [2, () => this.#slow(random.int(0, 7))],
      [2, () => this.#flush()],
      [1, () => this.redis(random.int(200, 1_500))],
    ];
  }

  /** The orderly end of a rolling restart. */
  #terminate(member: Member): Promise<void> {
    if (!member.paused) member.signal('SIGTERM');
    return Promise.resolve();
  }

  #listenKilled(): Promise<void> {
    const sql = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc-listen' and datname = $1`;
    return this.lasting('listen killed', undefined, () => this.target.postgres.query(sql, [this.target.database]));
  }

  /** A transaction that holds a city's lock, as a slow one of the product's own would. */
  #slow(nth: number): Promise<void> {
    const sql = `do $$ begin
      perform pg_advisory_xact_lock(1, id) from event_streams where name <> '__supervisor__' order by id offset ${nth} limit 1;
      perform pg_sleep(2);
    end $$`;
    return this.lasting('slow transaction', undefined, () => this.target.postgres.query(sql, [], this.target.database));
  }

  #flush(): Promise<void> {
    return this.lasting('redis flushed', undefined, async () => this.target.redis?.flush());
  }
}
