import { Injectable } from '@nestjs/common';
import { ExtmsgInbound } from '../../../contract/events/extmsg.events.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { newId } from '../../../platform/time/clock.js';
import type { CityScope } from '../../cities/city-scope.js';
import { ConfigReadsService } from '../../config/config-reads.service.js';
import { AdaptersRepository } from '../adapters/adapters.repository.js';
import type { Telling } from '../bindings/binding-events.js';
import { toBinding } from '../bindings/bindings.mapper.js';
import { BindingsRepository, type BindingRow } from '../bindings/bindings.repository.js';
import { BindingsService } from '../bindings/bindings.service.js';
import { ofAgent } from '../bindings/target.js';
import {
  conversationOf,
  factsOf,
  normalProvider,
  requireOwn,
  type Conversation,
  type ConversationRow,
} from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { deliveriesOf, TellingService, type Telling as MembersTelling } from '../deliveries/telling.service.js';
import { GroupsRepository } from '../groups/groups.repository.js';
import { handleOf } from '../groups/groups.service.js';
import { decide, type Decision } from '../groups/route.js';
import { toEntry } from '../transcript/transcript.mapper.js';
import { onceKeyOf, type EntryRow, type NewEntry } from '../transcript/transcript.repository.js';
import { defaultRoute } from './default-route.js';
import { InboundRepository, type Found } from './inbound.repository.js';
import type { ExternalInboundMessage, ExtMsgInboundInput, GroupRouteDecision, InboundResult } from './inbound.schemas.js';

/**
 * Takes messages from outside: the route, the binding that a default route makes, the entry, its event and a delivery for each member
 * are one transaction. What has come before is answered as it was then, and tells nobody again.
 */
@Injectable()
export class InboundService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly config: ConfigReadsService,
    private readonly adapters: AdaptersRepository,
    private readonly conversations: ConversationsRepository,
    private readonly bindings: BindingsRepository,
    private readonly binding: BindingsService,
    private readonly groups: GroupsRepository,
    private readonly repository: InboundRepository,
    private readonly telling: TellingService,
    private readonly log: AppLogger,
  ) {}

  /** @throws ProblemError invalid_request for what no repetition helps; unavailable while the city does not run */
  async receive(city: CityScope, body: ExtMsgInboundInput, caller: Principal): Promise<InboundResult> {
    const { message } = body;
    if (message === undefined) return this.#raw(city, body, caller);
    const conversation = conversationOf(message.conversation, { as: 'invalid_request', at: 'body.message.conversation' });
    requireOwn(caller, conversation);
    return this.transactions.run((tx) => this.#take(tx, city, conversation, message, caller), { key: city.name });
  }

  async #take(
    tx: Tx,
    city: CityScope,
    conversation: Conversation,
    message: ExternalInboundMessage,
    caller: Principal,
  ): Promise<InboundResult> {
    const telling = { stream: city.stream, actor: caller.actor };
    const onceKey = onceKeyOf(message.provider_message_id, message.dedup_key);
    const looked = await this.repository.look(tx, city.streamId, conversation, onceKey);
    if (!looked.running) throw problem('unavailable', `city ${city.name} does not run; try again`);
    if (looked.known !== undefined) return this.#repeated(tx, looked.at!, message, looked.known);
    const events: NewEvent[] = [];
    let found = looked;
    if (looked.overdue) {
      events.push(...(await this.binding.expireIn(tx, looked.at!, telling)));
      found = await this.repository.look(tx, city.streamId, conversation, onceKey);
    }
    if (found.binding === undefined && found.group === undefined) {
      const bound = await this.#bindDefault(tx, city, conversation, telling);
      if (bound !== undefined) {
        events.push(...bound);
        found = await this.repository.look(tx, city.streamId, conversation, onceKey);
        // Somebody has brought it while there was no conversation to lock.
        if (found.known !== undefined) {
          await this.eventLog.append(tx, events);
          return this.#repeated(tx, found.at!, message, found.known);
        }
      }
    }
    const { at, binding, group, participants } = found;
    // What nobody answers leaves nothing behind.
    if (at === undefined) return unrouted(message, undefined);
    const decision = binding === undefined ? decide(group, participants, handleOf(message.explicit_target ?? '')) : undefined;
    const to = binding ?? decision?.participant;
    if (to === undefined) {
      await this.eventLog.append(tx, events);
      return unrouted(message, decision);
    }
    if (decision?.handle !== undefined) await this.groups.remember(tx, group!.pk, decision.handle);
    const entry: NewEntry = {
      id: newId('entry'),
      kind: 'inbound',
      providerMessageId: message.provider_message_id,
      onceKey,
      actor: message.actor,
      text: message.text.trim(),
      explicitTarget: message.explicit_target?.trim() ?? '',
      replyTo: message.reply_to_message_id ?? '',
      attachments: message.attachments ?? [],
      sourceSessionId: '',
      route: {
        ...(binding === undefined ? {} : { binding: binding.pk }),
        ...(decision === undefined ? {} : { group: { match: decision.match, update: decision.handle !== undefined } }),
        session: to.session_id,
        agent: to.agent_name,
      },
    };
    const deliveries = deliveriesOf(toTell(at, message, entry, found));
    const row = await this.repository.take(tx, at, entry, deliveries);
    if (deliveries.length > 0) this.telling.hurry(tx);
    if (caller.adapter !== undefined) await this.adapters.seen(tx, caller.adapter.pk);
    events.push(
      event(ExtmsgInbound, {
        ...telling,
        subject: to.session_id || to.agent_name,
        payload: {
          ...factsOf(at),
          actor: message.actor.display_name,
          target_session: to.session_id,
          ...(to.agent_name === '' ? {} : { target_agent: to.agent_name }),
          sequence: row.sequence,
          members: deliveries.length,
        },
      }),
    );
    await this.eventLog.append(tx, events);
    return { ...answer(at, message, row, binding), Members: deliveries.length };
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
    const { binding, group } = await this.repository.look(tx, city.streamId, conversation, '');
    if (binding !== undefined || group !== undefined) return [];
    return (await this.binding.bindIn(tx, at, { target: ofAgent(identity), replace: false, metadata: {} }, telling)).events;
  }

  async #repeated(tx: Tx, at: ConversationRow, message: ExternalInboundMessage, entry: EntryRow): Promise<InboundResult> {
    const { binding: pk } = entry.route;
    const binding = pk === undefined ? undefined : await this.bindings.byPk(tx, pk);
    return { ...answer(at, message, entry, binding), Duplicate: true };
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

function toTell(
  at: ConversationRow,
  { actor, explicit_target }: ExternalInboundMessage,
  entry: NewEntry,
  { participants, members }: Found,
): MembersTelling {
  const target = handleOf(explicit_target ?? '');
  return {
    direction: 'inbound',
    told: {
      conversation: at,
      sequence: at.head + 1,
      from: { name: actor.display_name, id: actor.id, kind: actor.is_bot ? 'agent' : 'human' },
      text: entry.text,
      messageId: entry.providerMessageId,
      replyTo: entry.replyTo,
      attachments: entry.attachments,
      target,
    },
    members,
    participants,
    target: participants.find(({ handle }) => handle === target),
  };
}

function answer(at: ConversationRow, message: ExternalInboundMessage, entry: EntryRow, binding: BindingRow | undefined): InboundResult {
  const { group, session = '', agent = '' } = entry.route;
  return {
    Message: inUtc(message),
    Binding: binding === undefined ? null : toBinding(binding),
    GroupRoute: group === undefined ? null : { Match: group.match, TargetSessionID: session, UpdateCursor: group.update },
    TranscriptEntry: toEntry(entry, at),
    TargetSessionID: session,
    TargetAgentName: agent,
  };
}

/** As all times in answers are. */
const inUtc = (message: ExternalInboundMessage): ExternalInboundMessage => ({
  ...message,
  received_at: new Date(message.received_at).toISOString(),
});

function unrouted(message: ExternalInboundMessage, decision: Decision | undefined): InboundResult {
  const route: GroupRouteDecision | null =
    decision === undefined ? null : { Match: decision.match, TargetSessionID: '', UpdateCursor: false };
  return { Message: inUtc(message), Binding: null, GroupRoute: route, TranscriptEntry: null, TargetSessionID: '', TargetAgentName: '' };
}
