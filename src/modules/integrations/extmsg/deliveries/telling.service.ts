import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../../platform/database/transactions.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { newId } from '../../../../platform/time/clock.js';
import type { ConversationRow } from '../conversations/conversation.js';
import type { ParticipantFacts } from '../groups/groups.repository.js';
import type { MembershipRow } from '../groups/memberships.repository.js';
import { EXTMSG_TOPIC } from '../topics.js';
import { DeliveriesRepository, type MemberDelivery } from './deliveries.repository.js';
import { listenerOf, noticeOf, sharedOf, type Told } from './notice.js';

export interface Telling {
  readonly direction: 'inbound' | 'peer';
  readonly told: Told;
  readonly members: readonly MembershipRow[];
  readonly participants: readonly ParticipantFacts[];
  /** Who was meant, where a handle says so. */
  readonly target: ParticipantFacts | undefined;
  /** The entry from outside that a publication goes back to. */
  readonly root?: number;
  /** How many may be told; the others are written down as skipped. */
  readonly most?: number;
}

/** What each member is told, in the order of their names. */
export function deliveriesOf({ direction, told, members, participants, target, root, most = Infinity }: Telling): MemberDelivery[] {
  const shared = sharedOf(told, members.length);
  return members.map((member, nth) => ({
    id: newId('dlv'),
    direction,
    sequence: told.sequence,
    selector: member.selector,
    sessionPk: member.session_pk,
    body: noticeOf(told, listenerOf(participants, member, { handle: told.target, participant: target }), shared),
    ...(root === undefined ? {} : { root }),
    ...(nth < most ? {} : { skipped: 'fanout_limit' }),
  }));
}

/** Writes down who is to be told of an entry, in its transaction: one delivery a member, sent by workers afterwards. */
@Injectable()
export class TellingService {
  constructor(
    private readonly repository: DeliveriesRepository,
    private readonly signals: Signals,
  ) {}

  /** Answers how many are told. */
  async tell(tx: Tx, at: ConversationRow, telling: Telling): Promise<number> {
    await this.repository.insert(tx, at, deliveriesOf(telling));
    const count = Math.min(telling.members.length, telling.most ?? Infinity);
    if (count > 0) this.hurry(tx);
    return count;
  }

  /** Somebody is to be told of something that was written in this transaction. */
  hurry(tx: Tx): void {
    this.signals.mark(tx, EXTMSG_TOPIC);
  }

  /** Somebody is to be told of something that is committed. */
  hurryNow(): void {
    this.signals.markNow(EXTMSG_TOPIC);
  }
}
