import { CityFaults, type CityTarget } from './city-faults.js';
import type { Member } from './fleet.js';
import type { Choice } from './harm.js';

export interface OrdersTarget extends CityTarget {
  /** Moves the clock of the orders with a schedule to their slot. */
  readonly move: () => Promise<void>;
}

/** Harm to what fires orders and carries them out. */
export class OrdersFaults extends CityFaults<OrdersTarget> {
  protected own(api: Member, worker: Member): readonly Choice[] {
    const { random } = this;
    return [
      [2, () => this.pause(random.pick([api, worker]), random.int(500, 3_000))],
      [3, () => this.cut(random.chance(0.5))],
      [2, () => this.blackhole(random.pick([api, worker]))],
      [4, () => this.target.move().catch(() => undefined)],
    ];
  }
}
