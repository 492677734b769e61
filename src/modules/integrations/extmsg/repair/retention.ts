import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { repeat } from '../../../../platform/health/repeat.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { inBatches } from '../../../../platform/time/in-batches.js';
import { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import { BindingsService } from '../bindings/bindings.service.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { RetentionRepository, type Expired } from './retention.repository.js';

/** In days; entries also by their number in a conversation. */
export const KEPT = { ended: 30, deliveries: 7, groups: 90, entries: { days: 90, count: 10_000 } } as const;
const EVERY_MS = 60_000;
const BATCH = 500;
/**
 * Conversations that one pass looks at, whether they have too many entries. With an index of those that have, each message would write all
 * indexes of its conversation anew.
 */
const LOOKED_AT = 20_000;

/** Ends bindings whose time is over, and forgets what nobody asks for any more. Any number of workers may. */
@Injectable()
export class ExtmsgRetention implements OnApplicationBootstrap {
  /** The last conversation that the pass before has looked at. The first begins anywhere: workers that are often started anew come to all. */
  #above: number | undefined;

  constructor(
    private readonly sessions: SessionChangesService,
    private readonly conversations: ConversationsRepository,
    private readonly binding: BindingsService,
    private readonly repository: RetentionRepository,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'retention of external messages', everyMs: EVERY_MS, work: (signal) => this.pass(signal) });
  }

  async pass(signal?: AbortSignal): Promise<void> {
    for (const one of await this.repository.expired(BATCH)) {
      if (signal?.aborted === true) return;
      await this.#expire(one).catch((error: unknown) =>
        this.log.warn({ err: error, city: one.stream }, 'a binding could not be ended in time'),
      );
    }
    await this.forget(BATCH, signal);
  }

  /** All that is kept no longer, in statements of at most `batch` rows. */
  async forget(batch = BATCH, signal?: AbortSignal): Promise<void> {
    const all = (step: () => Promise<number>): Promise<void> => inBatches(batch, step, signal);
    await all(() => this.repository.forgetBindings(KEPT.ended, batch));
    await all(() => this.repository.forgetParticipants(KEPT.ended, batch));
    await all(() => this.repository.forgetMemberships(KEPT.ended, batch));
    await all(() => this.repository.forgetDeliveries(KEPT.deliveries, batch));
    await all(() => this.repository.forgetGroups(KEPT.groups, batch));
    await all(() => this.repository.forgetOldEntries(KEPT.entries.days, batch));
    const stretch = await this.repository.stretch(this.#above ?? (await this.repository.anywhere()), LOOKED_AT);
    await all(() => this.repository.forgetManyEntries(KEPT.entries.count, stretch, 10 * batch));
    this.#above = stretch.count < LOOKED_AT ? 0 : stretch.upTo;
  }

  async #expire({ conversation_pk: pk, stream_id: streamId, stream }: Expired): Promise<void> {
    await this.sessions.runInAnyState({ name: stream, stream, streamId }, 'reconciler', async (changes) => {
      const at = await this.conversations.lockPk(changes.tx, pk);
      if (at !== undefined) changes.emit(...(await this.binding.expireIn(changes.tx, at, { stream, actor: 'reconciler' })));
    });
  }
}
