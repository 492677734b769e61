import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { Db } from '../../../../platform/database/database.js';
import { afterCommit, Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import type { NewEvent } from '../../../../platform/event-log/event.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { CitiesService } from '../../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import type { Telling } from '../bindings/binding-events.js';
import { BindingsService } from '../bindings/bindings.service.js';
import { ofAgent } from '../bindings/target.js';
import { conversationOf, normalProvider, requireOwn, type Conversation } from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { TellingService } from '../deliveries/telling.service.js';
import { onceKeyOf } from '../transcript/transcript.repository.js';
import { defaultRoute } from './default-route.js';
import type { Found } from './found.js';
import { InboundCommitter } from './inbound-committer.js';
import { InboundRepository, NO_RECORDS, type Taken } from './inbound.repository.js';
import type { ExternalInboundMessage, ExtMsgInboundInput, InboundResult } from './inbound.schemas.js';
import { answer, routed, unrouted, type Intake } from './intake.js';

/**
 * Takes messages from outside: the route, the binding that a default route makes, the entry, its event and a delivery for each member
 * are one transaction, which most messages share. What has come before is answered as it was then, and tells nobody again.
 */
@Injectable()
export class InboundService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly moved: MovedStreams,
    private readonly cities: CitiesService,
    private readonly config: ConfigReadsService,
    private readonly adapters: AdaptersRepository,
    private readonly conversations: ConversationsRepository,
    private readonly binding: BindingsService,
    private readonly repository: InboundRepository,
    private readonly committer: InboundCommitter,
    private readonly telling: TellingService,
    private readonly log: AppLogger,
  ) {}

  /** @throws ProblemError invalid_request for what no repetition helps; city_not_found; unavailable while the city does not run */
  async receive(city: string, body: ExtMsgInboundInput, caller: Principal): Promise<InboundResult> {
    const { message } = body;
    // Whose city it is not hears nothing of what is wrong with the message.
    if (message === undefined || !maySee(caller, city)) return this.#raw(await this.cities.requireStarted(city, caller), body, caller);
    const intake = await this.#intake(city, message, caller);
    return (await this.committer.receive(intake)) ?? this.#alone(await this.cities.requireStarted(city, caller), intake);
  }

  async #intake(city: string, message: ExternalInboundMessage, caller: Principal): Promise<Intake> {
    try {
      const conversation = conversationOf(message.conversation, { as: 'invalid_request', at: 'body.message.conversation' });
      requireOwn(caller, conversation);
      return { city, message, caller, conversation, onceKey: onceKeyOf(message.provider_message_id, message.dedup_key) };
    } catch (error) {
      await this.cities.requireStarted(city, caller);
      throw error;
    }
  }

  /** One that makes more than an entry, or has to wait for its conversation. */
  #alone(city: CityScope, intake: Intake): Promise<InboundResult> {
    return this.transactions.run((tx) => this.#take(tx, city, intake), { key: city.name });
  }

  async #take(tx: Tx, city: CityScope, intake: Intake): Promise<InboundResult> {
    const { conversation, message, caller } = intake;
    const telling = { stream: city.stream, actor: caller.actor };
    const look = (): Promise<Found> => this.repository.wait(tx, intake);
    const looked = await look();
    if (!looked.running) throw problem('unavailable', `city ${city.name} does not run; try again`, { ofOthers: true });
    if (looked.known !== undefined) return repeated(message, looked);
    const events: NewEvent[] = [];
    let found = looked;
    if (looked.overdue) {
      events.push(...(await this.binding.expireIn(tx, looked.at!, telling)));
      found = await look();
    }
    if (found.binding === undefined && found.group === undefined) {
      const bound = await this.#bindDefault(tx, city, conversation, telling);
      if (bound !== undefined) {
        events.push(...bound);
        found = await look();
        // Somebody has brought it while there was no conversation to lock.
        if (found.known !== undefined) {
          await this.eventLog.append(tx, events);
          return repeated(message, found);
        }
      }
    }
    // What nobody answers leaves nothing behind.
    if (found.at === undefined) return unrouted(message, undefined);
    const { taking, decision } = routed(intake, found.at, found, events);
    if (taking === undefined) {
      await this.eventLog.append(tx, events);
      return unrouted(message, decision);
    }
    const [{ entry, head }] = (await this.repository.take(tx, new Map([[0, taking]]), true, NO_RECORDS)) as [Taken];
    if (taking.deliveries.length > 0) this.telling.hurry(tx);
    afterCommit(tx, () => this.moved.mark([{ stream: city.stream, head }]));
    return answer(found.at, message, entry, found.binding, { Members: taking.deliveries.length });
  }

  /** Whom a default route names has what nobody has. Answers what is to be told of it; undefined where there is no route. */
  async #bindDefault(tx: Tx, city: CityScope, conversation: Conversation, telling: Telling): Promise<NewEvent[] | undefined> {
    const current = await this.config.known(city, tx);
    const { identity, unresolved } = current === undefined ? {} : defaultRoute(current.config, conversation);
    if (unresolved !== undefined)
      this.log.warn({ city: city.name, agent: unresolved }, 'a default route leads to an agent that has no session of its own');
    if (identity === undefined) return undefined;
    const at = await this.conversations.ensure(tx, city.streamId, conversation);
    // Somebody may have made it, and given it to somebody, before this one had its lock.
    const there = await this.repository.wait(tx, { city: city.name, conversation, onceKey: '' });
    if (there.binding !== undefined || there.group !== undefined) return [];
    return (await this.binding.bindIn(tx, at, { target: ofAgent(identity), replace: false, metadata: {} }, telling)).events;
  }

  /** What nobody here can read: adapters normalise what they send. */
  async #raw(city: CityScope, body: ExtMsgInboundInput, caller: Principal): Promise<never> {
    const provider = normalProvider(body.provider ?? '');
    const account = body.account_id?.trim() ?? '';
    if (provider === '' || account === '')
      throw problem('invalid_request', 'provider and account_id are required for raw payloads', {
        at: provider === '' ? 'body.provider' : 'body.account_id',
      });
    requireOwn(caller, { provider, account_id: account });
    const adapter = await this.adapters.find(this.db, city.streamId, provider, account);
    const why =
      adapter === undefined
        ? `no adapter registered for ${provider}/${account}`
        : `adapter ${provider}/${account} does not support raw inbound verification: adapter unsupported`;
    throw problem('validation_failed', why, { at: 'body.payload' });
  }
}

function repeated(message: ExternalInboundMessage, { at, known, binding }: Found): InboundResult {
  return answer(at!, message, known!, binding, { Duplicate: true });
}
