import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { placeOf } from '../../../../platform/streams/cursor.js';
import { EventStreams, openerOf, type Opening } from '../../../../platform/streams/event-streams.js';
import { newId } from '../../../../platform/time/clock.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { AdaptersRepository, type AdapterRow } from '../adapters/adapters.repository.js';
import { normalProvider, requireOwn } from '../conversations/conversation.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import type { PublicationStreamQuery } from './connected.schemas.js';
import type { Prepared } from './connection.js';
import { ConnectionHub } from './connection-hub.js';
import { ConnectionsRepository } from './connections.repository.js';
import { OffersRepository } from './offers.repository.js';

/** Streams of one adapter at once, of all replicas together. */
const MOST = 8;
const POSITION = /^(cnx-[0-9a-f]{24})\.\d{1,15}$/;

/** Opens streams of publications. Every refusal is a problem before any header. */
@Injectable()
export class ConnectionsService {
  constructor(
    private readonly transactions: Transactions,
    private readonly adapters: AdaptersRepository,
    private readonly repository: ConnectionsRepository,
    private readonly offers: OffersRepository,
    private readonly hub: ConnectionHub,
    private readonly streams: EventStreams,
    private readonly timings: ExtmsgTimings,
  ) {}

  /** @throws ProblemError validation_failed, forbidden, wrong_state, invalid_cursor, conflict, unavailable */
  async open(city: CityScope, caller: Principal, query: PublicationStreamQuery, lastEventId: string | undefined): Promise<Opening> {
    const { provider, accountId } = caller.adapter ?? named(query);
    if (query.provider !== undefined || query.account_id !== undefined) {
      const asked = named({ provider, account_id: accountId, ...query });
      requireOwn(caller, { provider: asked.provider, account_id: asked.accountId });
    }
    const before = connectionOf(lastEventId, query.after_cursor);
    this.hub.assertOpen();
    this.streams.assertRoom();
    const prepare = (tx: Tx): Promise<Prepared> => this.#prepare(tx, city, provider, accountId, before);
    const prepared = await this.transactions.run(prepare, { key: city.name });
    return this.streams.opening({
      ...openerOf(caller, city.name),
      take: (subscriber) => this.hub.attach(subscriber, prepared),
      closed: () => this.hub.detach(prepared.id),
    });
  }

  /** It counts from here on. If its stream never begins, its time runs out. */
  async #prepare(tx: Tx, { streamId }: CityScope, provider: string, accountId: string, before: string | undefined): Promise<Prepared> {
    const adapter = await this.adapters.find(tx, streamId, provider, accountId);
    if (adapter?.transport !== 'stream') throw notConnecting(provider, accountId, adapter);
    const account = { stream_id: streamId, provider, account_id: accountId };
    const id = newId('cnx');
    const { claimMs: ms, offers, connectionMs } = this.timings;
    const resumed = before === undefined ? [] : await this.offers.move(tx, account, before, id, { ms, offers });
    if ((await this.repository.others(tx, adapter.pk, before)) >= MOST)
      throw problem('conflict', `the adapter for ${provider}/${accountId} has ${MOST} streams open already`);
    await this.repository.insert(tx, adapter.pk, id, connectionMs);
    return { id, adapter, account, resumed };
  }
}

function named({ provider, account_id: account }: Pick<PublicationStreamQuery, 'provider' | 'account_id'>): {
  readonly provider: string;
  readonly accountId: string;
} {
  const found = { provider: normalProvider(provider ?? ''), accountId: (account ?? '').trim() };
  if (found.provider === '') throw problem('validation_failed', 'whose publications? provider is required', { at: 'query.provider' });
  if (found.accountId === '') throw problem('validation_failed', 'whose publications? account_id is required', { at: 'query.account_id' });
  return found;
}

/** The stream that the client had before this one. */
function connectionOf(lastEventId: string | undefined, afterCursor: string | undefined): string | undefined {
  const header = lastEventId?.trim() ?? '';
  const [value, what] = header === '' ? [afterCursor?.trim() ?? '', 'after_cursor'] : [header, 'Last-Event-ID'];
  if (value === '') return undefined;
  const found = POSITION.exec(value)?.[1];
  if (found !== undefined) return found;
  throw problem('invalid_cursor', `${what} is not a position of this stream`, { at: placeOf(what), value });
}

function notConnecting(provider: string, accountId: string, adapter: AdapterRow | undefined): Error {
  if (adapter === undefined) return problem('validation_failed', `no adapter for ${provider}/${accountId}`, { at: 'query.provider' });
  return problem('wrong_state', `the adapter for ${provider}/${accountId} takes no stream: register it with transport "stream"`);
}
