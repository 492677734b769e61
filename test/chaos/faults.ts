import type { Member } from './fleet.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';

export interface Target {
  readonly members: readonly Member[];
  readonly postgres: ChaosPostgres;
  readonly redis: ChaosRedis | undefined;
  readonly database: string;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Does harm, one thing at a time or several at once, as its random numbers say. */
export class Faults {
  readonly #running = new Set<Promise<void>>();
  #stopped = false;
  #loop: Promise<void> | undefined;
  #postgresBusy = false;

  constructor(
    private readonly target: Target,
    private readonly random: Random,
    private readonly recorder: Recorder,
    private readonly longestPauseMs: number,
  ) {}

  start(everyMs: number): void {
    this.#loop = this.#draw(everyMs);
  }

  /** No new faults; waits until those under way are over and everything runs again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    await Promise.all(this.#running);
    for (const member of this.target.members) {
      member.signal('SIGCONT');
      member.proxy.heal();
    }
    await this.target.postgres.restart();
    await this.target.redis?.restart();
  }

  async #draw(everyMs: number): Promise<void> {
    while (!this.#stopped) {
      await sleep(this.random.int(everyMs / 2, everyMs * 1.5));
      if (this.#stopped) return;
      const fault = this.#choose().finally(() => this.#running.delete(fault));
      this.#running.add(fault);
    }
  }

  async #choose(): Promise<void> {
    const { random } = this;
    const member = random.pick(this.target.members);
    const choices: [number, () => Promise<void>][] = [
      [4, () => this.#kill(member)],
      [2, () => this.#pause(member, random.int(500, this.longestPauseMs))],
      [2, () => this.#terminate(member)],
      [2, () => this.#postgres(random.int(100, 1_000))],
      [2, () => this.#listenKilled()],
      [3, () => this.#blackhole(member)],
      [2, () => this.#slow(random.int(0, 7))],
      [2, () => this.#flush()],
      [1, () => this.#redis(random.int(200, 1_500))],
    ];
    let at = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, run] of choices) if ((at -= weight) < 0) return run();
  }

  async #lasting(name: string, replica: string | undefined, work: () => Promise<unknown>, pause = false): Promise<void> {
    const fault = this.recorder.fault(name, replica, pause);
    // A pause that is still going on when the history is read would otherwise excuse nothing.
    if (pause) fault.to = Infinity;
    await work().catch(() => undefined);
    fault.to = this.recorder.now();
  }

  #kill(member: Member): Promise<void> {
    return this.#lasting('kill', member.name, async () => member.signal('SIGKILL'));
  }

  /** The orderly end of a rolling restart. */
  #terminate(member: Member): Promise<void> {
    if (!member.paused) member.signal('SIGTERM');
    return Promise.resolve();
  }

  #pause(member: Member, ms: number): Promise<void> {
    return this.#lasting(
      'pause',
      member.name,
      async () => {
        member.signal('SIGSTOP');
        await sleep(ms);
        member.signal('SIGCONT');
      },
      true,
    );
  }

  async #postgres(ms: number): Promise<void> {
    if (this.#postgresBusy) return;
    this.#postgresBusy = true;
    try {
      await this.#lasting('postgres immediate stop', undefined, async () => {
        await this.target.postgres.crash();
        await sleep(ms);
        await this.target.postgres.restart();
      });
    } finally {
      this.#postgresBusy = false;
    }
  }

  #listenKilled(): Promise<void> {
    const sql = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc-listen' and datname = $1`;
    return this.#lasting('listen killed', undefined, () => this.target.postgres.query(sql, [this.target.database]));
  }

  #blackhole(member: Member): Promise<void> {
    return this.#lasting('listen blackholed', member.name, async () => {
      member.proxy.blackhole('svc-listen');
      await sleep(100);
    });
  }

  /** A transaction that holds a city's lock, as a slow one of the product's own would. */
  #slow(nth: number): Promise<void> {
    const sql = `do $$ begin
      perform pg_advisory_xact_lock(1, id) from event_streams where name <> '__supervisor__' order by id offset ${nth} limit 1;
      perform pg_sleep(2);
    end $$`;
    return this.#lasting('slow transaction', undefined, () => this.target.postgres.query(sql, [], this.target.database));
  }

  #flush(): Promise<void> {
    return this.#lasting('redis flushed', undefined, async () => this.target.redis?.flush());
  }

  #redis(ms: number): Promise<void> {
    return this.#lasting('redis killed', undefined, async () => {
      await this.target.redis?.stop();
      await sleep(ms);
      await this.target.redis?.restart();
    });
  }
}
