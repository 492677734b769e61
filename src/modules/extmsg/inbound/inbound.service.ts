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
import { TellingService } from '../deliveries/telling.service.js';
import { GroupsRepository, type GroupRow, type ParticipantRow } from '../groups/groups.repository.js';
import { handleOf } from '../groups/groups.service.js';
import { MembershipsRepository } from '../groups/memberships.repository.js';
import { decide, type Decision } from '../groups/route.js';
import { toEntry } from '../transcript/transcript.mapper.js';
import { onceKeyOf, TranscriptRepository, type EntryRow } from '../transcript/transcript.repository.js';
import { defaultRoute } from './default-route.js';
import type { ExternalInboundMessage, ExtMsgInboundInput, GroupRouteDecision, InboundResult } from './inbound.schemas.js';

/** Whom a message is for. */
interface Routed {
  readonly binding: BindingRow | undefined;
  readonly group: GroupRow | undefined;
  readonly participants: readonly ParticipantRow[];
  readonly decision: Decision | undefined;
}

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
    private readonly memberships: MembershipsRepository,
    private readonly transcript: TranscriptRepository,
    private readonly telling: TellingService,
    private readonly log: AppLogger,
  ) {}

  /** @throws ProblemError invalid_request for what no repetition helps; unavailable while the city does not run */
  async receive(city: CityScope, body: ExtMsgInboundInput, caller: Principal): Promise<InboundResult> {
    const { message } = body;
    if (message === undefined) return this.#raw(city, body, caller);
    const conversation = conversationOf(message.conversation, { as: 'invalid_request', at: 'body.message.conversation' });
    requireOwn(caller, conversation);
    const current = await this.config.known(city);
    const { identity, unresolved } = current === undefined ? {} : defaultRoute(current.config, conversation);
    if (unresolved !== undefined)
      this.log.warn({ city: city.name, agent: unresolved }, 'a default route leads to an agent that has no session of its own');
    return this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw problem('unavailable', `city ${city.name} does not run; try again`);
        return this.#take(tx, city, conversation, message, { caller, identity });
      },
      { key: city.name },
    );
  }

  async #take(
    tx: Tx,
    city: CityScope,
    conversation: Conversation,
    message: ExternalInboundMessage,
    { caller, identity }: { caller: Principal; identity: string | undefined },
  ): Promise<InboundResult> {
    const telling = { stream: city.stream, actor: caller.actor };
    const at =
      (await this.conversations.lock(tx, city.streamId, conversation)) ??
      // What nobody answers leaves nothing behind.
      (identity === undefined ? undefined : await this.conversations.ensure(tx, city.streamId, conversation));
    if (at === undefined) return unrouted(message, undefined);
    const onceKey = onceKeyOf(message.provider_message_id, message.dedup_key);
    const known = await this.transcript.known(tx, at.pk, onceKey);
    if (known !== undefined) return this.#repeated(tx, at, message, known);

    const events: NewEvent[] = await this.binding.expireIn(tx, at, telling);
    let routed = await this.#route(tx, at, handleOf(message.explicit_target ?? ''));
    if (routed.decision?.match === 'no_group' && identity !== undefined) {
      const made = await this.binding.bindIn(tx, at, { target: ofAgent(identity), replace: false, metadata: {} }, telling);
      events.push(...made.events);
      routed = { ...routed, binding: made.bound, decision: undefined };
    }
    const { binding, decision, group } = routed;
    const to = binding ?? decision?.participant;
    if (to === undefined) {
      await this.eventLog.append(tx, events);
      return unrouted(message, decision);
    }
    if (decision?.handle !== undefined) await this.groups.remember(tx, group!.pk, decision.handle);
    const entry = await this.transcript.append(tx, at.pk, {
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
    });
    const members = await this.#tell(tx, at, message, entry, routed);
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
          sequence: entry.sequence,
          members,
        },
      }),
    );
    await this.eventLog.append(tx, events);
    return { ...(await this.#answer(tx, at, message, entry)), Members: members };
  }

  /** The binding of exactly this conversation; without one what its group decides. */
  async #route(tx: Tx, at: ConversationRow, explicitTarget: string): Promise<Routed> {
    const binding = await this.bindings.active(tx, at.pk);
    const group = await this.groups.of(tx, at.pk);
    const participants = group === undefined ? [] : await this.groups.participants(tx, group.pk);
    const decision = binding === undefined ? decide(group, participants, explicitTarget) : undefined;
    return { binding, group, participants, decision };
  }

  async #tell(tx: Tx, at: ConversationRow, message: ExternalInboundMessage, entry: EntryRow, { participants }: Routed): Promise<number> {
    const { actor } = message;
    const target = handleOf(message.explicit_target ?? '');
    return this.telling.tell(tx, at, {
      direction: 'inbound',
      told: {
        conversation: at,
        sequence: entry.sequence,
        from: { name: actor.display_name, id: actor.id, kind: actor.is_bot ? 'agent' : 'human' },
        text: entry.text,
        messageId: entry.provider_message_id,
        replyTo: entry.reply_to_message_id,
        attachments: entry.attachments,
        target,
      },
      members: await this.memberships.members(tx, at.pk),
      participants,
      target: participants.find(({ handle }) => handle === target),
    });
  }

  async #repeated(tx: Tx, at: ConversationRow, message: ExternalInboundMessage, entry: EntryRow): Promise<InboundResult> {
    return { ...(await this.#answer(tx, at, message, entry)), Duplicate: true };
  }

  async #answer(tx: Tx, at: ConversationRow, message: ExternalInboundMessage, entry: EntryRow): Promise<InboundResult> {
    const { binding: pk, group, session = '', agent = '' } = entry.route;
    const binding = pk === undefined ? undefined : await this.bindings.byPk(tx, pk);
    return {
      Message: inUtc(message),
      Binding: binding === undefined ? null : toBinding(binding),
      GroupRoute: group === undefined ? null : { Match: group.match, TargetSessionID: session, UpdateCursor: group.update },
      TranscriptEntry: toEntry(entry, at),
      TargetSessionID: session,
      TargetAgentName: agent,
    };
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
