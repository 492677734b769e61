import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Db } from '../../../platform/database/database.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { sleep } from '../../../platform/time/clock.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { NOW } from '../session-store/session-row.js';
import { stopWish } from '../session-store/session-stops.js';
import { RigsRepository } from './rigs.repository.js';

export interface Restarted {
  /** Ids of sessions whose process has ended. */
  readonly killed: string[];
  /** Ids of those that have not confirmed it in time; they are asked all the same. */
  readonly failed: string[];
}

/** What was asked to end. */
interface Process {
  readonly pk: number;
  readonly id: string;
  readonly generation: number;
}

const LOOK_MS = 250;
const LIMIT_MS = 15_000;

/** Ends the processes of a rig's sessions and has them started again. */
@Injectable()
export class RigRestarts {
  constructor(
    private readonly repository: RigsRepository,
    private readonly changes: SessionChangesService,
    private readonly idempotency: Idempotency,
    private readonly db: Db,
  ) {}

  /** Under a key each of them once: who repeats it waits for the same ends, and leaves alone what was started since. */
  async restart(city: CityScope, rig: string, key: string | undefined, caller: Principal): Promise<Restarted> {
    const ref = idempotencyRef(caller, city.name, 'restart-rig', key, { rig });
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    const processes = (stored?.body as readonly Process[] | undefined) ?? (await this.#ask(city, rig, ref, caller));
    const asked = new Map(processes.map((one) => [one.pk, one]));
    const until = performance.now() + LIMIT_MS;
    for (;;) {
      const alive = new Map((await this.repository.withProcess(city.streamId, rig)).map(({ pk, generation }) => [pk, generation]));
      const left = [...asked].filter(([pk, { generation }]) => alive.get(pk) === generation).map(([, { id }]) => id);
      if (left.length === 0 || performance.now() >= until) {
        const all = [...asked.values()].map(({ id }) => id);
        return { killed: all.filter((id) => !left.includes(id)), failed: left };
      }
      await sleep(LOOK_MS);
    }
  }

  async #ask(city: CityScope, rig: string, ref: IdempotencyRef | undefined, { actor }: Principal): Promise<readonly Process[]> {
    const pks = (await this.repository.withProcess(city.streamId, rig)).map(({ pk }) => pk);
    // Under a key also that there was none is kept.
    if (pks.length === 0 && ref === undefined) return [];
    return this.changes.run(city, actor, async (changes) => {
      const { body } = await this.idempotency.run<readonly Process[]>(changes.tx, ref, async () => {
        const asked: Process[] = [];
        await changes.lockAll(pks, []);
        for (const pk of pks) {
          const row = await changes.lock(pk);
          if (row === undefined || row.runner_id === null) continue;
          const wish = stopWish(row, 'kill', { reason: 'killed' });
          // Whoever is about to end it otherwise goes on doing so.
          if (wish === undefined) continue;
          // As if somebody had it woken: where another session takes its place, that one runs.
          await changes.patch(row, { ...wish, wake_request: 'explicit', wake_requested_at: NOW });
          asked.push({ pk, id: row.id, generation: row.generation });
        }
        return { status: 200, body: asked };
      });
      return body;
    });
  }
}
