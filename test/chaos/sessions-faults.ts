import type { Member } from './fleet.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import type { ProcessWatch } from './sessions-processes.js';

export interface SessionsTarget {
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly postgres: ChaosPostgres;
  readonly redis: ChaosRedis | undefined;
  readonly watch: ProcessWatch;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Longer than a runner's lease: what comes back finds that everything has been given to others. */
const PAST_LEASE_MS = [10_500, 13_000] as const;

/** Harm to what runs sessions. */
export class SessionsFaults {
  readonly #running = new Set<Promise<void>>();
  #stopped = false;
  #loop: Promise<void> | undefined;
  #postgresBusy = false;
  #paused = false;

  constructor(
    private readonly target: SessionsTarget,
    private readonly random: Random,
    private readonly recorder: Recorder,
  ) {}

  start(everyMs: number): void {
    this.#loop = this.#draw(everyMs);
  }

  /** No new faults; waits until those under way are over and everything runs again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    await Promise.all(this.#running);
    const { apis, workers, postgres, redis } = this.target;
    for (const member of [...apis, ...workers]) {
      member.signal('SIGCONT');
      member.proxy.heal();
    }
    await postgres.restart();
    await redis?.restart();
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
    const { random, target } = this;
    const [api, worker] = [random.pick(target.apis), random.pick(target.workers)];
    const choices: [number, () => Promise<void>][] = [
      [3, () => this.#signal(worker, 'SIGKILL')],
      [1, () => this.#signal(worker, 'SIGTERM')],
      [2, () => this.#signal(api, 'SIGKILL')],
      [1, () => this.#signal(api, 'SIGTERM')],
      [2, () => this.#pastLease(worker)],
      [1, () => this.#pause(worker, random.int(500, 3_000))],
      [4, () => this.#agent()],
      [2, () => this.#postgres(random.int(100, 1_000))],
      [1, () => this.#blackhole(random.pick([api, worker]))],
      [1, () => this.#redis(random.int(200, 1_500))],
    ];
    let at = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, run] of choices) if ((at -= weight) < 0) return run();
  }

  async #lasting(name: string, replica: string | undefined, work: () => Promise<unknown>, pause = false): Promise<void> {
    const fault = this.recorder.fault(name, replica, pause);
    if (pause) fault.to = Infinity;
    await work().catch(() => undefined);
    fault.to = this.recorder.now();
  }

  async #signal(member: Member, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (member.paused && signal === 'SIGTERM') return;
    await this.#lasting(signal === 'SIGKILL' ? 'kill' : 'terminate', member.name, async () => member.signal(signal));
  }

  /** One at a time: with all of them paused nobody would take anything. */
  async #pastLease(member: Member): Promise<void> {
    if (this.#paused) return;
    this.#paused = true;
    await this.#pause(member, this.random.int(...PAST_LEASE_MS));
    this.#paused = false;
  }

  #pause(member: Member, ms: number): Promise<void> {
    const work = async (): Promise<void> => {
      member.signal('SIGSTOP');
      await sleep(ms);
      member.signal('SIGCONT');
    };
    return this.#lasting('pause', member.name, work, true);
  }

  /** The end of an agent that nobody expects. */
  #agent(): Promise<void> {
    const { last } = this.target.watch;
    if (last.length === 0) return Promise.resolve();
    const { session, pid, birth } = this.random.pick(last);
    return this.#lasting('agent killed', session, async () => {
      if (this.target.watch.sample().processes.some((one) => one.pid === pid && one.birth === birth)) process.kill(pid, 'SIGKILL');
    });
  }

  async #postgres(ms: number): Promise<void> {
    if (this.#postgresBusy) return;
    this.#postgresBusy = true;
    await this.#lasting('postgres immediate stop', undefined, async () => {
      await this.target.postgres.crash();
      await sleep(ms);
      await this.target.postgres.restart();
    });
    this.#postgresBusy = false;
  }

  #blackhole(member: Member): Promise<void> {
    return this.#lasting('listen blackholed', member.name, async () => void member.proxy.blackhole('svc-listen'));
  }

  #redis(ms: number): Promise<void> {
    return this.#lasting('redis killed', undefined, async () => {
      await this.target.redis?.stop();
      await sleep(ms);
      await this.target.redis?.restart();
    });
  }
}
