import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { Db } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { CitiesService } from '../../../tenancy/cities/cities.service.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { toDelivery } from '../deliveries/deliveries.mapper.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import type { ExtmsgDelivery } from '../deliveries/deliveries.schemas.js';
import { PublicationEnds } from '../outbound/publication-ends.js';
import { PublicationsRepository } from '../outbound/publications.repository.js';
import type { Outcome } from '../outbound/receipt.js';
import type { ExtmsgPublicationAckInput } from './connected.schemas.js';
import { ConnectionsRepository } from './connections.repository.js';

const NANOSECONDS = 1_000_000;

/**
 * What clients say has become of what they were given. The first answer under a claim counts. "Delivered" counts also after "not delivered",
 * as long as nobody else was given it: it would go out again. An answer under a claim that has ended is refused.
 */
@Injectable()
export class AcksService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly cities: CitiesService,
    private readonly adapters: AdaptersRepository,
    private readonly connections: ConnectionsRepository,
    private readonly conversations: ConversationsRepository,
    private readonly publications: PublicationsRepository,
    private readonly deliveries: DeliveriesRepository,
    private readonly ends: PublicationEnds,
  ) {}

  /**
   * In any state of the city: the message has gone out, and would go out again.
   *
   * @throws ProblemError city_not_found; validation_failed; delivery_not_found, also for that of another account; wrong_state for a claim that has ended
   */
  async ack(name: string, id: string, body: ExtmsgPublicationAckInput, caller: Principal): Promise<ExtmsgDelivery> {
    const city = await this.cities.requireRegistered(name, caller);
    const outcome = outcomeOf(body);
    await this.transactions.run(
      async (tx) => {
        const found = await this.publications.byId(tx, city.streamId, id);
        if (found === undefined || !isOwn(caller, found)) throw problem('delivery_not_found', `publication ${id} not found`);
        const at = (await this.conversations.lockPk(tx, found.conversation_pk))!;
        const held = await this.publications.claimed(tx, found.pk, body.claim, outcome.delivered);
        const row = (await this.publications.byPk(tx, found.pk))!;
        if (!held && row.claim === body.claim) return;
        if (!held)
          throw problem(
            'wrong_state',
            `the claim has ended: publication ${id} is ${row.state}${row.worker === null ? '' : ', and another has it'}`,
          );
        const adapter = await this.adapters.find(tx, row.stream_id, row.provider, row.account_id);
        await this.ends.record(tx, at, row, adapter, outcome);
        if (row.worker !== null) await this.connections.answered(tx, row.worker);
      },
      { key: city.name },
    );
    return toDelivery((await this.deliveries.byId(this.db, city.streamId, id))!);
  }
}

function isOwn({ adapter }: Principal, { provider, account_id }: { readonly provider: string; readonly account_id: string }): boolean {
  return adapter === undefined || (adapter.provider === provider && adapter.accountId === account_id);
}

function outcomeOf({
  delivered,
  message_id,
  failure_kind: kind,
  error,
  retry_after,
  metadata,
  conversation,
}: ExtmsgPublicationAckInput): Outcome {
  const common = { metadata: metadata ?? null, conversation };
  if (delivered) {
    if (kind === undefined) return { ...common, delivered, messageId: message_id ?? '', kind: '', error: undefined, retryAfterMs: 0 };
    throw problem('validation_failed', 'what was delivered has no failure_kind', { at: 'body.failure_kind' });
  }
  if (kind === undefined) throw problem('validation_failed', 'what was not delivered needs a failure_kind', { at: 'body.failure_kind' });
  return { ...common, delivered, messageId: '', kind, error: error || kind, retryAfterMs: (retry_after ?? 0) / NANOSECONDS };
}
