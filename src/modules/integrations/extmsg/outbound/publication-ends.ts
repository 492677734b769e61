import { Injectable } from '@nestjs/common';
import { ExtmsgOutbound } from '../../../../contract/events/extmsg.events.js';
import { afterCommit, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { newId } from '../../../../platform/time/clock.js';
import { AdaptersRepository, type AdapterRow } from '../adapters/adapters.repository.js';
import { factsOf, type ConversationRow } from '../conversations/conversation.js';
import { deliveryFailed } from '../deliveries/delivery-failed.js';
import { TellingService } from '../deliveries/telling.service.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { GroupsRepository, type ParticipantRow } from '../groups/groups.repository.js';
import { USUAL_FANOUT } from '../groups/groups.schemas.js';
import { MembershipsRepository } from '../groups/memberships.repository.js';
import { EXTMSG_TOPIC, publicationTopic } from '../topics.js';
import { onceKeyOf, TranscriptRepository, type EntryRow } from '../transcript/transcript.repository.js';
import type { PublicationRow } from './publication.js';
import { PublicationsRepository } from './publications.repository.js';
import { isRetried, type Outcome } from './receipt.js';

/** What follows from a try, in the transaction that says so. For what has arrived: its entry, its event, and who is told of it. */
@Injectable()
export class PublicationEnds {
  readonly #ended: (outcome: 'delivered' | 'failed') => void;

  constructor(
    private readonly repository: PublicationsRepository,
    private readonly transcript: TranscriptRepository,
    private readonly groups: GroupsRepository,
    private readonly memberships: MembershipsRepository,
    private readonly telling: TellingService,
    private readonly adapters: AdaptersRepository,
    private readonly eventLog: EventLog,
    private readonly signals: Signals,
    private readonly timings: ExtmsgTimings,
    metrics: Metrics,
  ) {
    const ended = metrics.counter({
      name: 'svc_extmsg_publications_ended_total',
      help: 'Messages to conversations outside that have arrived, or are not tried any more.',
      labelNames: ['outcome'],
    });
    // Whoever asks how many have failed wants to see 0, too.
    for (const outcome of ['delivered', 'failed']) ended.inc({ outcome }, 0);
    this.#ended = (outcome) => ended.inc({ outcome });
  }

  /** What one try has come to, by whoever has the publication, under the lock of the conversation. It comes last in its transaction. */
  async record(tx: Tx, at: ConversationRow, row: PublicationRow, adapter: AdapterRow | undefined, outcome: Outcome): Promise<void> {
    if (adapter !== undefined) await this.adapters.called(tx, adapter.pk, outcome.delivered ? undefined : outcome.error);
    const stream = await this.repository.stream(tx, row.stream_id);
    this.signals.mark(tx, publicationTopic(row.pk));
    this.signals.mark(tx, EXTMSG_TOPIC);
    if (outcome.delivered) return void (await this.eventLog.append(tx, await this.#delivered(tx, stream, at, row, outcome)));
    const { kind, error = kind, retryAfterMs } = outcome;
    const receipt = { messageId: '', kind, error, retryAfterMs, metadata: outcome.metadata };
    const pause = Math.max(this.timings.pauseAfter(row.attempts), retryAfterMs);
    const most = adapter?.transport === 'stream' ? this.timings.offers : this.timings.attempts;
    if (isRetried(outcome) && row.attempts < most && !row.overdue) return this.repository.later(tx, row.pk, pause, receipt);
    afterCommit(tx, () => this.#ended('failed'));
    await this.repository.end(tx, row.pk, 'failed', receipt);
    await this.eventLog.append(tx, [deliveryFailed(stream, 'extmsg', row, kind === '' ? 'not_delivered' : kind, error)]);
  }

  /** Answers what is to be told last. */
  async #delivered(tx: Tx, stream: string, at: ConversationRow, row: PublicationRow, outcome: Outcome): Promise<NewEvent[]> {
    const { messageId, metadata, conversation } = outcome;
    const { entry, told } = await this.#entry(tx, row, messageId);
    afterCommit(tx, () => this.#ended('delivered'));
    const receipt = { messageId, kind: '', retryAfterMs: 0, metadata, ...(conversation === undefined ? {} : { conversation }) };
    await this.repository.end(tx, row.pk, 'delivered', receipt, entry.sequence);
    if (row.generation > 0) await this.repository.recordContext(tx, row, messageId);
    await this.#tellPeers(tx, at, row, entry, told);
    const generation = row.generation === 0 ? {} : { binding_generation: row.generation };
    return [
      event(ExtmsgOutbound, {
        stream,
        actor: row.session_id,
        subject: row.session_id,
        session_id: row.session_id,
        payload: { ...factsOf(at), message_id: messageId, session: row.session_id, sequence: entry.sequence, ...generation },
      }),
    ];
  }

  /**
   * The provider may have sent it back to us before it has answered: that is the entry then, and who was `told` of it has it. Beside
   * everything else that has the id it is an entry of its own, for nobody's words are to be lost over an id that an adapter gives twice.
   */
  async #entry(tx: Tx, row: PublicationRow, messageId: string): Promise<{ entry: EntryRow; told: readonly string[] }> {
    const onceKey = onceKeyOf(messageId);
    const known = await this.transcript.known(tx, row.conversation_pk, onceKey);
    if (known !== undefined && isEcho(known, row)) {
      const told = await this.repository.asPeers(tx, row.conversation_pk, known.sequence, row.root);
      return { entry: await this.transcript.claim(tx, known, row.session_id), told };
    }
    const entry = await this.transcript.append(tx, row.conversation_pk, {
      id: newId('entry'),
      kind: 'outbound',
      providerMessageId: messageId,
      onceKey: known === undefined ? onceKey : '',
      actor: { id: '', display_name: '', is_bot: false },
      text: row.body.trim(),
      explicitTarget: row.explicit_target,
      replyTo: row.reply_to_message_id,
      attachments: row.attachments,
      sourceSessionId: row.session_id,
      route: {},
    });
    return { entry, told: [] };
  }

  /** The other members, as far as the group lets its members talk to each other. */
  async #tellPeers(tx: Tx, at: ConversationRow, row: PublicationRow, entry: EntryRow, told: readonly string[]): Promise<void> {
    const group = await this.groups.of(tx, at.pk);
    if (group !== undefined && (!group.fanout_enabled || (!group.fanout_untargeted && row.explicit_target === ''))) return;
    const identity = await this.repository.identityOf(tx, row.session_pk);
    const members = (await this.memberships.members(tx, at.pk)).filter(
      ({ selector, session_pk }) =>
        session_pk !== row.session_pk && selector !== row.session_id && selector !== identity && !told.includes(selector),
    );
    if (members.length === 0) return;
    const participants = group === undefined ? [] : await this.groups.participants(tx, group.pk);
    const { deliveries } = await this.repository.since(tx, at.pk, row.root, []);
    const isSender = (who: ParticipantRow): boolean =>
      who.session_pk === row.session_pk || (who.session_pk === null && who.agent_name === identity);
    const sender = participants.find(isSender);
    await this.telling.tell(tx, at, {
      direction: 'peer',
      told: {
        conversation: at,
        sequence: entry.sequence,
        from: { name: sender?.handle ?? row.session_id, id: row.session_id, kind: 'agent' },
        text: entry.text,
        messageId: entry.provider_message_id,
        replyTo: entry.reply_to_message_id,
        attachments: entry.attachments,
        target: row.explicit_target,
      },
      members,
      participants,
      target: participants.find(({ handle }) => handle === row.explicit_target),
      root: row.root,
      most: Math.max(0, (group?.max_peer_deliveries ?? USUAL_FANOUT.MaxTotalPeerDeliveries) - deliveries),
    });
  }
}

/** It came after the publication was taken. Its text proves nothing: providers give what they send back another form. */
function isEcho({ kind, created_at }: EntryRow, row: PublicationRow): boolean {
  return kind === 'inbound' && created_at >= row.created_at;
}
