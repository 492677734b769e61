import { Injectable } from '@nestjs/common';
import { problem } from '../../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../../contract/token.js';
import { Db } from '../../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import type { Indexed } from '../../../../platform/http/indexed.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { notRunning } from '../../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { PublicationsRepository } from '../outbound/publications.repository.js';
import { EXTMSG_TOPIC } from '../topics.js';
import { DeliveriesRepository, type DeliveryRow, type Waiting } from './deliveries.repository.js';
import { toDelivery } from './deliveries.mapper.js';
import type { DeliveriesQuery, ExtmsgDelivery, ListBodyExtmsgDelivery } from './deliveries.schemas.js';

const USUAL = 100;
const DAY_MS = 86_400_000;

/** What is on its way, what has not arrived, and trying that again. */
@Injectable()
export class DeliveriesService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly config: ConfigReadsService,
    private readonly conversations: ConversationsRepository,
    private readonly repository: DeliveriesRepository,
    private readonly adapters: AdaptersRepository,
    private readonly publications: PublicationsRepository,
    private readonly signals: Signals,
    private readonly timings: ExtmsgTimings,
  ) {}

  /** Newest first. @throws ProblemError invalid_cursor */
  async list(city: CityScope, query: DeliveriesQuery): Promise<Indexed<ListBodyExtmsgDelivery>> {
    const before = placeOf(query.cursor);
    const head = await this.conversations.eventHead(this.db, city.streamId);
    const limit = query.limit === 0 ? USUAL : query.limit;
    const { rows, more } = await this.repository.page(this.db, city.streamId, {
      states: query.status,
      direction: query.direction,
      before,
      limit,
    });
    const next = more ? { next_cursor: encodeToken({ k: 'delivery', pk: rows.at(-1)!.pk }) } : {};
    return { index: head, value: { items: rows.map(toDelivery), total: rows.length, ...next } };
  }

  /**
   * Tries what has failed for good once more, from the start; what waits already waits on.
   *
   * @throws ProblemError delivery_not_found; wrong_state for what has ended otherwise, and for what another has the conversation of by now
   */
  async retry(city: CityScope, id: string): Promise<ExtmsgDelivery> {
    await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const found = await this.repository.byId(tx, city.streamId, id);
        if (found === undefined) throw problem('delivery_not_found', `delivery ${id} not found`);
        await this.conversations.lockPk(tx, found.conversation_pk);
        if (found.direction === 'outbound' && !(await this.publications.isCurrent(tx, found.pk)))
          throw problem('wrong_state', `delivery ${id} cannot be tried again: its session has the conversation no more`);
        const waiting = found.direction === 'outbound' ? await this.#waiting(tx, found) : { lifeMs: DAY_MS, forClientsOf: null };
        if (await this.repository.again(tx, found.pk, waiting)) return this.signals.mark(tx, EXTMSG_TOPIC);
        const { state } = (await this.repository.byId(tx, city.streamId, id))!;
        if (state !== 'pending') throw problem('wrong_state', `delivery ${id} is ${state}`);
      },
      { key: city.name },
    );
    return toDelivery((await this.repository.byId(this.db, city.streamId, id))!);
  }

  async #waiting(tx: Tx, { stream_id, provider, account_id }: DeliveryRow): Promise<Waiting> {
    const adapter = await this.adapters.find(tx, stream_id, provider, account_id);
    if (adapter?.transport !== 'stream') return { lifeMs: this.timings.lifeMs, forClientsOf: null };
    return { lifeMs: this.timings.streamLifeMs, forClientsOf: adapter.pk };
  }
}

function placeOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  const { k, pk } = decodeToken(cursor) ?? {};
  if (k === 'delivery' && Number.isSafeInteger(pk)) return pk as number;
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}
