import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { sleep } from '../../../platform/time/clock.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
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

const LOOK_MS = 250;
const LIMIT_MS = 15_000;

/** Ends the processes of a rig's sessions and has them started again. */
@Injectable()
export class RigRestarts {
  constructor(
    private readonly repository: RigsRepository,
    private readonly changes: SessionChangesService,
  ) {}

  async restart(city: CityScope, rig: string, { actor }: Principal): Promise<Restarted> {
    const asked = new Map<number, { id: string; generation: number }>();
    for (const { pk } of await this.repository.withProcess(city.streamId, rig)) {
      await this.changes.run(city, actor, async (changes) => {
        const row = await changes.lock(pk);
        if (row === undefined || row.runner_id === null) return;
        const wish = stopWish(row, 'kill', { reason: 'killed' });
        // Whoever is about to end it otherwise goes on doing so.
        if (wish === undefined) return;
        await changes.patch(row, { ...wish, wake_request: 'restart', wake_requested_at: NOW });
        asked.set(pk, { id: row.id, generation: row.generation });
      });
    }
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
}
