import type { Member } from './fleet.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { sleep } from './sleep.js';

export interface Harmed {
  readonly postgres: ChaosPostgres;
  readonly redis: ChaosRedis | undefined;
}

/** What may be done, with how often it is chosen in comparison to the others. */
export type Choice = readonly [weight: number, run: () => Promise<void>];

/** Longer than a lease of what runs on a host: what comes back finds that everything has been given to others. */
const PAST_LEASE_MS = [10_500, 13_000] as const;

/** Does harm, one thing at a time or several at once, as its random numbers say. */
export abstract class Harm<Target extends Harmed> {
  readonly #running = new Set<Promise<void>>();
  #stopped = false;
  #loop: Promise<void> | undefined;
  #postgresBusy = false;
  #pausedLong = false;

  constructor(
    protected readonly target: Target,
    protected readonly random: Random,
    protected readonly recorder: Recorder,
  ) {}

  protected abstract members(): readonly Member[];
  protected abstract choices(): readonly Choice[];

  start(everyMs: number): void {
    this.#loop = this.#draw(everyMs);
  }

  /** No new faults; waits until those under way are over and everything runs again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    await Promise.all(this.#running);
    for (const member of this.members()) {
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
    const choices = this.choices();
    let at = this.random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, run] of choices) if ((at -= weight) < 0) return run();
  }

  protected async lasting(name: string, replica: string | undefined, work: () => Promise<unknown>, pause = false): Promise<void> {
    const fault = this.recorder.fault(name, replica, pause);
    // A pause that is still going on when the history is read would otherwise excuse nothing.
    if (pause) fault.to = Infinity;
    await work().catch(() => undefined);
    fault.to = this.recorder.now();
  }

  protected pause(member: Member, ms: number): Promise<void> {
    const work = async (): Promise<void> => {
      member.signal('SIGSTOP');
      await sleep(ms);
      member.signal('SIGCONT');
    };
    return this.lasting('pause', member.name, work, true);
  }

  protected async signal(member: Member, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (member.paused && signal === 'SIGTERM') return;
    await this.lasting(signal === 'SIGKILL' ? 'kill' : 'terminate', member.name, async () => member.signal(signal));
  }

  /** One at a time: with all of them paused nobody would take anything. */
  protected async pastLease(member: Member): Promise<void> {
    if (this.#pausedLong) return;
    this.#pausedLong = true;
    await this.pause(member, this.random.int(...PAST_LEASE_MS));
    this.#pausedLong = false;
  }

  protected async postgres(ms: number): Promise<void> {
    if (this.#postgresBusy) return;
    this.#postgresBusy = true;
    await this.lasting('postgres immediate stop', undefined, async () => {
      await this.target.postgres.crash();
      await sleep(ms);
      await this.target.postgres.restart();
    });
    this.#postgresBusy = false;
  }

  protected blackhole(member: Member): Promise<void> {
    return this.lasting('listen blackholed', member.name, async () => {
      member.proxy.blackhole('svc-listen');
      await sleep(100);
    });
  }

  protected redis(ms: number): Promise<void> {
    return this.lasting('redis killed', undefined, async () => {
      await this.target.redis?.stop();
      await sleep(ms);
      await this.target.redis?.restart();
    });
  }
}
