import type { Member } from './fleet.js';
import { Harm, type Choice, type Harmed } from './harm.js';
import type { ProcessWatch } from './sessions-processes.js';

export interface SessionsTarget extends Harmed {
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly watch: ProcessWatch;
}

/** Harm to what runs sessions. */
export class SessionsFaults extends Harm<SessionsTarget> {
  protected members(): readonly Member[] {
    return [...this.target.apis, ...this.target.workers];
  }

  protected choices(): readonly Choice[] {
    const { random, target } = this;
    const [api, worker] = [random.pick(target.apis), random.pick(target.workers)];
    return [
      [3, () => this.signal(worker, 'SIGKILL')],
      [1, () => this.signal(worker, 'SIGTERM')],
      [2, () => this.signal(api, 'SIGKILL')],
      [1, () => this.signal(api, 'SIGTERM')],
      [2, () => this.pastLease(worker)],
      [1, () => this.pause(worker, random.int(500, 3_000))],
      [4, () => this.#agent()],
      [2, () => this.postgres(random.int(100, 1_000))],
      [1, () => this.blackhole(random.pick([api, worker]))],
      [1, () => this.redis(random.int(200, 1_500))],
    ];
  }

  /** The end of an agent that nobody expects. */
  #agent(): Promise<void> {
    const { last } = this.target.watch;
    if (last.length === 0) return Promise.resolve();
    const { session, pid, birth } = this.random.pick(last);
    return this.lasting('agent killed', session, async () => {
      if (this.target.watch.sample().processes.some((one) => one.pid === pid && one.birth === birth)) process.kill(pid, 'SIGKILL');
    });
  }
}
