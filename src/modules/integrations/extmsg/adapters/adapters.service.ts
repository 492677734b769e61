import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { ExtmsgAdapterAdded, ExtmsgAdapterRemoved } from '../../../../contract/events/extmsg.events.js';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import type { OKResponseBody } from '../../../../contract/scalars.js';
import { Db } from '../../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import type { Indexed } from '../../../../platform/http/indexed.js';
import { Idempotency, type IdempotencyRef } from '../../../../platform/idempotency/idempotency.js';
import { notRunning } from '../../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../../tenancy/cities/idempotency-ref.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { normalProvider, requireOwn } from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { adapterTokenHash, credentialsOf } from './adapter-token.js';
import { toAdapterInfo } from './adapters.mapper.js';
import { ConnectionsRepository } from '../connected/connections.repository.js';
import { ForClientsRepository } from '../outbound/for-clients.repository.js';
import { AdaptersRepository, type AdapterRow, type Registration } from './adapters.repository.js';
import type {
  ExtMsgAdapterRegisterInput,
  ExtMsgAdapterRegisterOutput,
  ExtMsgAdapterUnregisterInput,
  ListBodyExtmsgAdapterInfo,
} from './adapters.schemas.js';
import { CallbackAddress } from './callback-address.js';

const MOST = 1_000;

/** What a registration has come to; `given` names the credentials that its answer shows. */
interface Registered {
  readonly answer: ExtMsgAdapterRegisterOutput;
  readonly given?: { readonly pk: number; readonly version: number };
}

interface Registering {
  readonly rotate: boolean;
  readonly ref: IdempotencyRef | undefined;
  readonly secret: Buffer;
  readonly caller: Principal;
  /** Told once the answer is stored. */
  readonly events: NewEvent[];
}

/** Adapters: what speaks for an account elsewhere. They are rows, so any replica publishes through them, and no restart loses one. */
@Injectable()
export class AdaptersService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly idempotency: Idempotency,
    private readonly config: ConfigReadsService,
    private readonly conversations: ConversationsRepository,
    private readonly repository: AdaptersRepository,
    private readonly connections: ConnectionsRepository,
    private readonly forClients: ForClientsRepository,
    private readonly address: CallbackAddress,
  ) {}

  /** The same again only says that it is there. @throws ProblemError validation_failed, conflict, forbidden */
  async register(
    city: CityScope,
    body: ExtMsgAdapterRegisterInput,
    key: string | undefined,
    caller: Principal,
  ): Promise<ExtMsgAdapterRegisterOutput> {
    const registration = await this.#checked(city, body, caller);
    const ref = idempotencyRef(caller, city.name, 'register-extmsg-adapter', key, body);
    const secret = await this.repository.deploymentSecret(this.db);
    const answer = await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const events: NewEvent[] = [];
        const rotate = body.rotate_secret === true;
        const once = await this.idempotency.run(tx, ref, async () => ({
          status: 201,
          body: await this.#register(tx, city, registration, { rotate, ref, secret, caller, events }),
        }));
        await this.eventLog.append(tx, events);
        return once;
      },
      { key: city.name },
    );
    // Not stored with the answer: whoever repeats the request gets them as long as they are good.
    const { answer: shown, given } = answer.body;
    if (given === undefined) return shown;
    const now = await this.repository.find(this.db, city.streamId, registration.provider, registration.accountId);
    const good = now?.pk === given.pk && now.secret_version === given.version;
    return good ? { ...shown, ...credentialsOf(secret, given.pk, given.version) } : shown;
  }

  /** @throws ProblemError forbidden */
  async unregister(city: CityScope, body: ExtMsgAdapterUnregisterInput, caller: Principal): Promise<OKResponseBody> {
    const { provider, accountId } = named(body);
    requireOwn(caller, { provider, account_id: accountId });
    await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const gone = await this.repository.remove(tx, city.streamId, provider, accountId);
        if (gone === undefined) return;
        await this.forClients.leave(tx, gone.pk);
        for (const at of gone.used_keys) await this.idempotency.forget(tx, at);
        const payload = { provider, account_id: accountId };
        const subject = `${provider}/${accountId}`;
        await this.eventLog.append(tx, [event(ExtmsgAdapterRemoved, { stream: city.stream, actor: caller.actor, subject, payload })]);
      },
      { key: city.name },
    );
    return { status: 'unregistered' };
  }

  async list(city: CityScope, { adapter }: Principal): Promise<Indexed<ListBodyExtmsgAdapterInfo>> {
    const head = await this.conversations.eventHead(this.db, city.streamId);
    const items = (await this.repository.list(this.db, city.streamId, adapter)).map(toAdapterInfo);
    return { index: head, value: { items, total: items.length } };
  }

  async #checked(city: CityScope, body: ExtMsgAdapterRegisterInput, caller: Principal): Promise<Registration> {
    const { provider, accountId } = named(body);
    requireOwn(caller, { provider, account_id: accountId });
    if (caller.adapter !== undefined && body.rotate_secret === true)
      throw problem('forbidden', 'extmsg unauthorized: an adapter does not give itself a new token');
    const callbackUrl = await this.address.checked(city.name, body.callback_url);
    const transport = body.transport ?? 'callback';
    if (transport === 'stream' && callbackUrl !== '')
      throw problem('validation_failed', 'an adapter that takes a stream has no callback_url', { at: 'body.callback_url' });
    const name = body.name?.trim() || `${provider}/${accountId}`;
    return { provider, accountId, name, callbackUrl, transport, capabilities: body.capabilities, leaseS: body.lease_seconds };
  }

  async #register(
    tx: Tx,
    city: CityScope,
    registration: Registration,
    { rotate, ref, secret, caller, events }: Registering,
  ): Promise<Registered> {
    const { provider, accountId, name } = registration;
    const { row, created } = await this.repository.ensure(tx, city.streamId, registration);
    if (created && (await this.repository.count(tx, city.streamId)) > MOST)
      throw problem('conflict', `a city has ${MOST} adapters at the most`);
    // The token was made for whoever had it then; another adapter of the account comes with another row.
    if (caller.adapter !== undefined && row.pk !== caller.adapter.pk)
      throw problem('forbidden', 'extmsg unauthorized: this adapter is registered anew');
    await this.repository.update(tx, row.pk, registration);
    // Streams were opened with what was good then.
    if (rotate || registration.transport !== 'stream') await this.connections.removeOf(tx, row.pk);
    if (row.transport === 'stream' && registration.transport !== 'stream') await this.forClients.leave(tx, row.pk);
    if (ref !== undefined) await this.repository.rememberKey(tx, row, ref);
    const answer = { status: 'registered', provider, account_id: accountId, name };
    if (created || isChanged(row, registration)) {
      const payload = { provider, account_id: accountId };
      events.push(event(ExtmsgAdapterAdded, { stream: city.stream, actor: caller.actor, subject: name, payload }));
    }
    if (!created && !rotate) return { answer };
    const version = created ? row.secret_version : row.secret_version + 1;
    await this.repository.setToken(tx, row.pk, version, adapterTokenHash(credentialsOf(secret, row.pk, version).token));
    return { answer, given: { pk: row.pk, version } };
  }
}

function named({ provider, account_id: account }: { readonly provider: string; readonly account_id: string }): {
  provider: string;
  accountId: string;
} {
  const found = { provider: normalProvider(provider), accountId: account.trim() };
  if (found.provider === '') throw problem('validation_failed', 'provider must hold more than white space', { at: 'body.provider' });
  if (found.accountId === '') throw problem('validation_failed', 'account_id must hold more than white space', { at: 'body.account_id' });
  return found;
}

function isChanged(row: AdapterRow, { name, callbackUrl, transport, capabilities }: Registration): boolean {
  const moved = row.callback_url !== callbackUrl || row.transport !== transport;
  return moved || row.name !== name || !isDeepStrictEqual(row.capabilities, capabilities ?? null);
}
