import { CityFaults, type CityTarget } from './city-faults.js';
import type { Member } from './fleet.js';
import type { Choice } from './harm.js';
import type { ProcessWatch } from './sessions-processes.js';

export interface SessionsTarget extends CityTarget {
  readonly watch: ProcessWatch;
}

/** Harm to what runs sessions. */
export class SessionsFaults extends CityFaults<SessionsTarget> {
  protected own(api: Member, worker: Member): readonly Choice[] {
    const { random } = this;
    return [
      [1, () => this.pause(worker, random.int(500, 3_000))],
      [4, () => this.#agent()],
      [1, () => this.blackhole(random.pick([api, worker]))],
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
