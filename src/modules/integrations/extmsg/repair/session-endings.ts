import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { SessionChanges } from '../../../sessions/session-store/session-changes.js';
import { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import { boundEvent } from '../bindings/binding-events.js';
import { BindingsRepository } from '../bindings/bindings.repository.js';
import { BindingsService } from '../bindings/bindings.service.js';
import { ofSession } from '../bindings/target.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import { deliveryFailed } from '../deliveries/delivery-failed.js';
import { GroupsRepository } from '../groups/groups.repository.js';
import { MembershipsRepository } from '../groups/memberships.repository.js';

/**
 * What a session has of conversations ends in the transaction in which the session ends, and goes to the one that comes after it under
 * its name in the transaction in which that one is made. So nothing of a dead session is left to be repaired.
 */
@Injectable()
export class SessionEndings implements OnModuleInit {
  constructor(
    private readonly sessions: SessionChangesService,
    private readonly conversations: ConversationsRepository,
    private readonly bindings: BindingsRepository,
    private readonly binding: BindingsService,
    private readonly groups: GroupsRepository,
    private readonly memberships: MembershipsRepository,
    private readonly deliveries: DeliveriesRepository,
  ) {}

  onModuleInit(): void {
    this.sessions.onEnded(async (changes, row, how) => {
      if (how === 'closed') await this.#ended(changes, row);
    });
    this.sessions.onEnding(async (changes, pks) => void (await this.#lockAll(changes, pks)));
    this.sessions.onHasForNext(async (changes, row) => (await this.#of(changes, [row.pk])).length > 0);
    this.sessions.onReplaced((changes, before, after) => this.#replaced(changes, before, after));
  }

  async #ended(changes: SessionChanges, row: SessionRow): Promise<void> {
    const { tx, city, actor } = changes;
    const pks = await this.#lockAll(changes, [row.pk]);
    if (pks.length > 0) {
      const telling = { stream: city.stream, actor };
      const { events } = await this.binding.endIn(tx, city.streamId, pks, { sessionPk: row.pk }, 'session_closed', telling);
      changes.emit(...events);
      await this.groups.closeOf(tx, city.streamId, row.pk);
      await this.memberships.close(tx, city.streamId, row.pk);
    }
    const failure = { code: 'session_closed', error: `session ${row.id} was closed before it was told` };
    for (const delivery of await this.deliveries.endOf(tx, city.streamId, row, failure))
      changes.emit(deliveryFailed(city.stream, actor, delivery, failure.code, failure.error));
  }

  async #replaced(changes: SessionChanges, before: SessionRow, after: SessionRow): Promise<void> {
    const { tx, city, actor } = changes;
    if ((await this.#lockAll(changes, [before.pk])).length === 0) return;
    const to = ofSession(after);
    const moved = await this.bindings.move(tx, city.streamId, before.pk, to);
    await this.groups.move(tx, city.streamId, before.pk, to);
    await this.memberships.move(tx, city.streamId, before.pk, to);
    await this.deliveries.move(tx, city.streamId, before, after);
    changes.emit(...moved.map((row) => boundEvent({ stream: city.stream, actor }, row)));
  }

  async #lockAll(changes: SessionChanges, sessionPks: readonly number[]): Promise<number[]> {
    const pks = await this.#of(changes, sessionPks);
    await this.conversations.lockAll(changes.tx, pks);
    return pks;
  }

  /** The conversations that they have. */
  async #of({ tx, city }: SessionChanges, sessionPks: readonly number[]): Promise<number[]> {
    const found: number[] = [];
    for (const sessionPk of sessionPks)
      found.push(
        ...(await this.bindings.conversations(tx, city.streamId, { sessionPk })),
        ...(await this.groups.conversationsOf(tx, city.streamId, sessionPk)),
        ...(await this.memberships.conversationsOf(tx, city.streamId, sessionPk)),
      );
    return [...new Set(found)];
  }
}
