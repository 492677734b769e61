import { Injectable } from '@nestjs/common';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { newId } from '../../../../platform/time/clock.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import type { ConversationRow } from '../conversations/conversation.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { PublicationEnds } from '../outbound/publication-ends.js';
import type { PublicationRow } from '../outbound/publication.js';
import { PublicationsRepository } from '../outbound/publications.repository.js';
import { failed } from '../outbound/receipt.js';
import type { Connection } from './connection.js';
import { ConnectionsRepository } from './connections.repository.js';
import { OffersRepository, type Candidate } from './offers.repository.js';

/** What one connection has in flight at the most. */
const FLYING = { count: 32, bytes: 1024 * 1024 } as const;

/**
 * Gives connections what is published: the oldest of each conversation, to one of them, for as long as the claim lasts. Right before, it
 * is looked whether whoever has published has the conversation still.
 */
@Injectable()
export class Offers {
  constructor(
    private readonly transactions: Transactions,
    private readonly repository: OffersRepository,
    private readonly connections: ConnectionsRepository,
    private readonly publications: PublicationsRepository,
    private readonly conversations: ConversationsRepository,
    private readonly adapters: AdaptersRepository,
    private readonly ends: PublicationEnds,
    private readonly timings: ExtmsgTimings,
    private readonly failpoints: Failpoints,
  ) {}

  /** As much as it has room for, while its client reads. */
  async more(connection: Connection): Promise<void> {
    const limits = { ...FLYING, offers: this.timings.offers };
    const adapter = { pk: connection.adapterPk, stream_id: connection.account.stream_id };
    for (const one of await this.repository.candidates(adapter, connection.id, limits)) {
      if (!connection.open || connection.full) return connection.hear();
      // Whatever breaks from here on, it is looked at again whether the connection has it.
      connection.unwritten.push(one);
      await this.#offer(connection, one, (tx) => this.#take(tx, connection, one.pk));
      connection.unwritten.pop();
    }
  }

  /** What it has, under the claim that it has been given, unless that has been answered meanwhile. */
  async unwritten(connection: Connection): Promise<void> {
    for (let one = connection.unwritten[0]; one !== undefined && connection.open; one = connection.unwritten[0]) {
      const { pk } = one;
      await this.#offer(connection, one, (tx) => this.publications.held(tx, pk, connection.id));
      connection.unwritten.shift();
    }
  }

  async #offer(connection: Connection, { pk, conversation_pk }: Candidate, has: (tx: Tx) => Promise<boolean>): Promise<void> {
    const row = await this.transactions.run(async (tx) => {
      const at = await this.conversations.lockPk(tx, conversation_pk);
      if (at === undefined || !(await has(tx))) return undefined;
      const taken = (await this.publications.byPk(tx, pk))!;
      if (await this.publications.isCurrent(tx, pk)) return taken;
      await this.#fence(tx, at, taken);
      return undefined;
    });
    await this.failpoints.hit('extmsg.offered');
    if (row !== undefined) connection.send(row);
  }

  async #take(tx: Tx, { id, adapterPk }: Connection, pk: number): Promise<boolean> {
    const { claimMs: ms, offers } = this.timings;
    const silence = `not acknowledged within ${ms} ms`;
    const taken = await this.repository.take(tx, pk, id, newId('claim'), { ms, offers, silence });
    if (taken === undefined) return false;
    if (taken.silent === null) return true;
    await this.adapters.called(tx, adapterPk, silence);
    await this.connections.missed(tx, taken.silent);
    return true;
  }

  async #fence(tx: Tx, at: ConversationRow, row: PublicationRow): Promise<void> {
    await this.ends.record(tx, at, row, undefined, failed('fenced', 'its session has the conversation no more'));
  }
}
