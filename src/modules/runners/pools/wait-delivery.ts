import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../contract/problems.js';
import { MessageQueue } from '../../sessions/messages/message-queue.service.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { finishWait, isLive, isWait, makeReady, nudgeOf } from '../../work/work/wait-states.js';
import { WorkService } from '../../work/work/work.service.js';
import type { PoolCity } from './pool-state.repository.js';
import { WaitDeliveryRepository, type ReadyWait } from './wait-delivery.repository.js';

const ACTOR = 'reconciler';

/**
 * Tells sessions that what they waited for has happened: the note of a ready wait is queued for its session, which is woken
 * for it, and the wait is closed once the note has been delivered. One that was registered in another conversation fails
 * instead. Waits of somebody who has no session here stay ready until they are accepted.
 */
@Injectable()
export class WaitDelivery {
  constructor(
    private readonly repository: WaitDeliveryRepository,
    private readonly changes: SessionChangesService,
    private readonly messages: MessageQueue,
    private readonly work: WorkService,
  ) {}

  /** Returns how many waits moved on. */
  async deliver(city: PoolCity): Promise<number> {
    const waits = await this.repository.ready(city.streamId);
    let moved = 0;
    const ended: { wait: ReadyWait; error: string | undefined }[] = [];
    const unready: string[] = [];
    for (const wait of waits) {
      if (wait.metadata.nudge_id !== nudgeOf(wait)) unready.push(wait.id);
      else if (wait.status === null) {
        const refused = await this.#queue(city, wait);
        if (refused === undefined) moved++;
        else ended.push({ wait, error: refused });
      } else ended.push({ wait, error: wait.status === 'delivered' ? undefined : (wait.error ?? wait.status) });
    }
    if (unready.length > 0) moved += await this.#makeReady(city, unready);
    if (ended.length > 0) moved += await this.#end(city, ended);
    return moved;
  }

  /** Why its note cannot be delivered; undefined when it is queued. */
  async #queue(city: PoolCity, wait: ReadyWait): Promise<string | undefined> {
    return this.changes.runInAnyState(city, ACTOR, async (changes) => {
      const row = await changes.lock(wait.session_pk);
      if (row === undefined || row.state === 'closed') return undefined;
      // Whoever has woken it meanwhile has ended its waits: it is not to be told, and woken once more, of what nobody waits for.
      if (!(await this.repository.isReady(changes.tx, city.streamId, wait.id))) return undefined;
      if (wait.epoch !== null && wait.epoch !== String(row.epoch)) return 'it was registered in another conversation of the session';
      const reference = nudgeOf(wait);
      if (await this.repository.isSent(changes.tx, city.streamId, row.pk, reference)) return undefined;
      try {
        await this.messages.enqueue(changes, row, {
          body: wait.note ?? `What you waited for has happened: ${wait.title}`,
          source: 'wait',
          sender: ACTOR,
          intent: 'follow_up',
          reference,
          ...(wait.epoch === null ? {} : { epoch: row.epoch }),
        });
        return undefined;
      } catch (error) {
        if (error instanceof ProblemError) return error.message;
        throw error;
      }
    });
  }

  /** Whoever may change a bead can write that a wait is ready, with the nudge of another one or with none: it gets its own, once. */
  async #makeReady(city: PoolCity, ids: readonly string[]): Promise<number> {
    const { value } = await this.work.run(city, ACTOR, async (work) => {
      let done = 0;
      for (const bead of await work.findAll(ids)) {
        const isReady = isWait(bead) && bead.status !== 'closed' && bead.metadata.state === 'ready';
        if (!isReady || bead.metadata.nudge_id === nudgeOf(bead)) continue;
        await makeReady(work, bead);
        done++;
      }
      return done;
    });
    return value;
  }

  async #end(city: PoolCity, ended: readonly { wait: ReadyWait; error: string | undefined }[]): Promise<number> {
    const { value } = await this.work.run(city, ACTOR, async (work) => {
      let done = 0;
      for (const { wait, error } of ended) {
        const bead = await work.find(wait.id);
        // Another nudge, or somebody who accepted it meanwhile: not this delivery's business any more.
        if (bead === undefined || !isWait(bead) || !isLive(bead) || bead.metadata.nudge_id !== nudgeOf(wait)) continue;
        await (error === undefined ? finishWait(work, bead, 'closed') : finishWait(work, bead, 'failed', { last_error: error }));
        done++;
      }
      return done;
    });
    return value;
  }
}
