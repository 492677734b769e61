import { Injectable } from '@nestjs/common';
import { ExtmsgOutboundChannelMismatch } from '../../../../contract/events/extmsg.events.js';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import { bodyHash } from '../../../../platform/idempotency/canonical-json.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { newId } from '../../../../platform/time/clock.js';
import { notRunning } from '../../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { SessionResolver } from '../../../sessions/session-names/session-resolver.service.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import { AdaptersRepository, type AdapterRow } from '../adapters/adapters.repository.js';
import { BindingsRepository, type BindingRow } from '../bindings/bindings.repository.js';
import { BindingsService } from '../bindings/bindings.service.js';
import { OffersRepository } from '../connected/offers.repository.js';
import { conversationOf, factsOf, requireOwn, shown, type Conversation, type ConversationRow } from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { deliveryFailed } from '../deliveries/delivery-failed.js';
import { GroupsRepository, type GroupRow } from '../groups/groups.repository.js';
import { requireHandle } from '../groups/groups.service.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { EXTMSG_TOPIC } from '../topics.js';
import type { ExtMsgOutboundInput, OutboundResult } from './outbound.schemas.js';
import { PublicationWatch } from './publication-watch.js';
import { PublicationsRepository } from './publications.repository.js';

/** Publications of one conversation that wait. */
const MOST_WAITING = 200;
/** Publications that wait for clients of one adapter: it may be away for long. */
const MOST_FOR_STREAM = 2_000;

const UNTOLD = { published: 0, told: false };

interface Authority {
  /** 0 for a participant of the group. */
  readonly generation: number;
  readonly group: GroupRow | undefined;
}

interface Taking extends Authority {
  readonly adapter: AdapterRow;
  readonly key: string;
  readonly hash: Buffer;
  /** The handle that is meant; '' for none. */
  readonly to: string;
}

/** Not allowed, which is told all the same. */
interface Refused {
  readonly why: string;
  readonly events: readonly NewEvent[];
}

/**
 * Takes what sessions publish. What is taken is a row, fenced by the generation of the binding under which it was allowed, and published
 * by a worker whoever asked goes away; the request waits for what comes of it.
 */
@Injectable()
export class OutboundService {
  constructor(
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly config: ConfigReadsService,
    private readonly resolver: SessionResolver,
    private readonly adapters: AdaptersRepository,
    private readonly conversations: ConversationsRepository,
    private readonly bindings: BindingsRepository,
    private readonly binding: BindingsService,
    private readonly groups: GroupsRepository,
    private readonly repository: PublicationsRepository,
    private readonly offers: OffersRepository,
    private readonly watch: PublicationWatch,
    private readonly signals: Signals,
    private readonly timings: ExtmsgTimings,
  ) {}

  /** @throws ProblemError session_not_found; validation_failed for who may not, and for what no adapter takes; idempotency_mismatch */
  async publish(city: CityScope, body: ExtMsgOutboundInput, caller: Principal, gone?: AbortSignal): Promise<OutboundResult> {
    const conversation = conversationOf(body.conversation, { as: 'validation_failed', at: 'body.conversation' });
    requireOwn(caller, conversation);
    const target = body.explicit_target?.trim() ?? '';
    const to = target === '' ? '' : requireHandle(target, 'body.explicit_target');
    const sender = await this.resolver.resolve(city, body.session_id.trim(), { closed: false, materialize: false });
    const taken = await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const at = await this.conversations.lock(tx, city.streamId, conversation);
        if (at === undefined) throw notBound(conversation);
        const key = body.idempotency_key?.trim() ?? '';
        const hash = bodyHash({
          session: sender.id,
          text: body.text,
          reply: body.reply_to_message_id,
          to: body.explicit_target,
          files: body.attachments,
        });
        const before = await this.repository.byKey(tx, at.pk, key);
        if (before !== undefined) {
          if (before.body_hash.equals(hash)) return before.pk;
          throw problem('idempotency_mismatch', 'idempotency_key reused with different content', { at: 'body.idempotency_key' });
        }
        const expired = await this.binding.expireIn(tx, at, { stream: city.stream, actor: caller.actor });
        const authority = await this.#authorise(tx, city, at, sender, caller);
        if ('why' in authority) {
          await this.eventLog.append(tx, [...expired, ...authority.events]);
          return authority;
        }
        const adapter = await this.#adapter(tx, at);
        requireFitting(body, adapter);
        const pk = await this.#insert(tx, at, sender, body, { ...authority, adapter, key, hash, to });
        const takesNothing = adapter.transport === 'callback' && adapter.callback_url === '';
        const events = takesNothing ? [...expired, await this.#unsupported(tx, city, pk)] : expired;
        this.signals.mark(tx, EXTMSG_TOPIC);
        await this.eventLog.append(tx, events);
        return pk;
      },
      { key: city.name },
    );
    if (typeof taken !== 'number') throw problem('validation_failed', taken.why, { at: 'body.session_id' });
    return this.watch.result(taken, this.timings.answerMs, gone);
  }

  async #authorise(tx: Tx, city: CityScope, at: ConversationRow, sender: SessionRow, caller: Principal): Promise<Authority | Refused> {
    const [binding, group] = [await this.bindings.active(tx, at.pk), await this.groups.of(tx, at.pk)];
    if (binding !== undefined) {
      const owns = binding.session_pk === null ? sender.named_identity === binding.agent_name : sender.pk === binding.session_pk;
      return owns ? { generation: binding.generation, group } : notOwner(city, at, sender, binding, caller);
    }
    const participants = group === undefined ? [] : await this.groups.participants(tx, group.pk);
    const isParticipant = participants.some(({ session_pk, agent_name }) =>
      session_pk === null ? sender.named_identity === agent_name : session_pk === sender.pk,
    );
    if (!isParticipant) throw notBound(at);
    return { generation: 0, group };
  }

  async #adapter(tx: Tx, { stream_id, provider, account_id }: ConversationRow): Promise<AdapterRow> {
    const adapter = await this.adapters.find(tx, stream_id, provider, account_id);
    if (adapter !== undefined) return adapter;
    const part = (await this.adapters.speaksFor(tx, stream_id, provider)) ? 'account_id' : 'provider';
    throw problem('validation_failed', `no adapter for ${provider}/${account_id}`, { at: `body.conversation.${part}` });
  }

  /** An adapter that takes nothing has failed at once. */
  async #unsupported(tx: Tx, city: CityScope, pk: number): Promise<NewEvent> {
    const error = 'the adapter has no callback_url';
    await this.repository.end(tx, pk, 'failed', { messageId: '', kind: 'unsupported', error, retryAfterMs: 0, metadata: null });
    return deliveryFailed(city.stream, 'extmsg', (await this.repository.byPk(tx, pk))!, 'unsupported', error);
  }

  async #insert(
    tx: Tx,
    at: ConversationRow,
    sender: SessionRow,
    body: ExtMsgOutboundInput,
    { generation, group, adapter, key, hash, to }: Taking,
  ): Promise<number> {
    const root = await this.repository.root(tx, at.pk);
    const selectors = [sender.id, ...(sender.named_identity === null ? [] : [sender.named_identity])];
    // Only a group has a limit for it.
    const { published, told } = group === undefined ? UNTOLD : await this.repository.since(tx, at.pk, root, selectors);
    if (group !== undefined && told && published >= group.max_peer_publishes)
      throw problem(
        'validation_failed',
        `extmsg fan-out limit: the group has published ${published} times since somebody outside wrote (MaxPeerTriggeredPublishes)`,
        { at: 'body.conversation' },
      );
    if ((await this.repository.waiting(tx, at.pk, MOST_WAITING)) >= MOST_WAITING)
      throw problem('conflict', `${MOST_WAITING} publications wait for ${shown(at)} already`);
    const isStream = adapter.transport === 'stream';
    if (isStream && (await this.offers.count(tx, { pk: adapter.pk, stream_id: at.stream_id }, MOST_FOR_STREAM)) >= MOST_FOR_STREAM)
      throw problem('conflict', `${MOST_FOR_STREAM} publications wait for a client of ${at.provider}/${at.account_id} already`);
    return this.repository.insert(tx, at, {
      id: newId('dlv'),
      session: sender,
      text: body.text ?? '',
      conversation: body.conversation!,
      attachments: body.attachments ?? [],
      replyTo: body.reply_to_message_id ?? '',
      explicitTarget: to,
      key,
      bodyHash: hash,
      generation,
      root,
      triggered: told,
      forClientsOf: isStream ? adapter.pk : null,
      lifeMs: isStream ? this.timings.streamLifeMs : this.timings.lifeMs,
    });
  }
}

/** Whether the adapter takes this. @throws ProblemError validation_failed */
function requireFitting(body: ExtMsgOutboundInput, { capabilities, provider, account_id: account }: AdapterRow): void {
  if (capabilities === null) return;
  const { MaxMessageLength: most, SupportsAttachments: takesFiles } = capabilities;
  const who = `the adapter for ${provider}/${account}`;
  if (most > 0 && (body.text?.length ?? 0) > most)
    throw problem('validation_failed', `${who} takes ${most} characters at the most`, { at: 'body.text' });
  if (!takesFiles && (body.attachments?.length ?? 0) > 0)
    throw problem('validation_failed', `${who} takes no attachments`, { at: 'body.attachments' });
}

function notOwner(city: CityScope, at: ConversationRow, sender: SessionRow, binding: BindingRow, { actor }: Principal): Refused {
  const owner = binding.agent_name === '' ? binding.session_id : `agent ${binding.agent_name}`;
  const payload = { ...factsOf(at), owner_session: binding.session_id || binding.agent_name, posting_session: sender.id };
  return {
    why: `session "${sender.id}" does not own binding for conversation ${shown(at)} (bound to ${owner})`,
    events: [event(ExtmsgOutboundChannelMismatch, { stream: city.stream, actor, subject: sender.id, payload })],
  };
}

/** With its kind: a room and a dm of one id are two conversations. */
function notBound(at: Conversation): Error {
  return problem('validation_failed', `no active binding for conversation ${shown(at)} (${at.kind})`, { at: 'body.conversation' });
}
