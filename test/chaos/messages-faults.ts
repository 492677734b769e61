import { CityFaults } from './city-faults.js';
import type { Member } from './fleet.js';
import type { Choice } from './harm.js';

const STALL_MS = [500, 2_000] as const;

/** Harm to what takes messages from outside and publishes them. */
export class MessagesFaults extends CityFaults {
  protected own(api: Member, worker: Member): readonly Choice[] {
    const { random } = this;
    return [
      [2, () => this.pause(random.pick([api, worker]), random.int(500, 3_000))],
      [3, () => this.cut(random.chance(0.5))],
      [2, () => this.blackhole(random.pick([api, worker]))],
      [2, () => this.#stall()],
    ];
  }

  /** Somebody holds some conversation, or the city's log, for a while. */
  #stall(): Promise<void> {
    const { random, target } = this;
    const lock = random.chance(0.5)
      ? 'pg_advisory_xact_lock(1, id) from event_streams where name <> $$__supervisor__$$'
      : `1 from extmsg_conversations where pk % 10 = ${random.int(0, 9)} for update`;
    const seconds = random.int(...STALL_MS) / 1_000;
    const sql = `do $do$ begin perform ${lock}; perform pg_sleep(${seconds}); end $do$`;
    return this.lasting('slow transaction', undefined, () => target.postgres.query(sql, [], target.database));
  }
}
