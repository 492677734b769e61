import type { Member } from './fleet.js';
import { Harm, type Choice, type Harmed } from './harm.js';

export interface OrdersTarget extends Harmed {
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly database: string;
  /** Moves the clock of the orders with a schedule to their slot. */
  readonly move: () => Promise<void>;
}

const CUT = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = $1 and pid <> pg_backend_pid() and (application_name = 'svc-listen') = $2`;

/** Harm to what fires orders and carries them out. */
export class OrdersFaults extends Harm<OrdersTarget> {
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
      [2, () => this.pause(random.pick([api, worker]), random.int(500, 3_000))],
      [2, () => this.postgres(random.int(100, 1_000))],
      [3, () => this.#cut(random.chance(0.5))],
      [2, () => this.blackhole(random.pick([api, worker]))],
      [1, () => this.redis(random.int(200, 1_500))],
      [4, () => this.target.move().catch(() => undefined)],
    ];
  }

  /** All connections of the database, in the middle of whatever they do, or those that hear hints. */
  #cut(listening: boolean): Promise<void> {
    const { postgres, database } = this.target;
    return this.lasting(listening ? 'listen killed' : 'connections cut', undefined, () => postgres.query(CUT, [database, listening]));
  }
}
