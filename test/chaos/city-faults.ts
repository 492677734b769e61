import type { Member } from './fleet.js';
import { Harm, type Choice, type Harmed } from './harm.js';

export interface CityTarget extends Harmed {
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly database: string;
}

const CUT = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = $1 and pid <> pg_backend_pid() and (application_name = 'svc-listen') = $2`;

/** Harm to what serves one city and works for it; each kind of rounds adds its own. */
export abstract class CityFaults<Target extends CityTarget = CityTarget> extends Harm<Target> {
  /** Drawn anew with each choice. */
  protected abstract own(api: Member, worker: Member): readonly Choice[];

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
      [2, () => this.postgres(random.int(100, 1_000))],
      [1, () => this.redis(random.int(200, 1_500))],
      ...this.own(api, worker),
    ];
  }

  /** All connections of the database, in the middle of whatever they do, or those that hear hints. */
  protected cut(listening: boolean): Promise<void> {
    const { postgres, database } = this.target;
    return this.lasting(listening ? 'listen killed' : 'connections cut', undefined, () => postgres.query(CUT, [database, listening]));
  }
}
