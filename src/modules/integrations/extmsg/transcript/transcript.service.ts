import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import type { OKResponseBody } from '../../../../contract/scalars.js';
import { decodeToken, encodeToken } from '../../../../contract/token.js';
import { Db } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import type { Indexed } from '../../../../platform/http/indexed.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { notRunning } from '../../../tenancy/cities/cities.service.js';
import { Targets } from '../bindings/targets.service.js';
import { conversationOf, requireOwn, type ConversationRow } from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import type { ConversationRef } from '../conversations/conversations.schemas.js';
import { MembershipsRepository, type MembershipRow } from '../groups/memberships.repository.js';
import { toEntry } from './transcript.mapper.js';
import { TranscriptRepository } from './transcript.repository.js';
import type { ExtMsgTranscriptAckInput, ListBodyConversationTranscriptRecord, TranscriptQuery } from './transcript.schemas.js';

const USUAL = 100;
const MOST = 500;

/** What has been said in a conversation, and how far its members have read. */
@Injectable()
export class TranscriptService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly config: ConfigReadsService,
    private readonly targets: Targets,
    private readonly conversations: ConversationsRepository,
    private readonly repository: TranscriptRepository,
    private readonly memberships: MembershipsRepository,
  ) {}

  /** @throws ProblemError invalid_request for a conversation that cannot be one; validation_failed for who is no member; invalid_cursor */
  async list(city: CityScope, query: TranscriptQuery, caller: Principal): Promise<Indexed<ListBodyConversationTranscriptRecord>> {
    const conversation = conversationOf(refOf(query), { as: 'invalid_request', at: 'query' });
    requireOwn(caller, conversation);
    const place = placeOf(query.cursor);
    const head = await this.conversations.eventHead(this.db, city.streamId);
    const at = await this.conversations.find(this.db, city.streamId, conversation);
    const descending = query.order === 'desc';
    const member = query.session_id === undefined ? undefined : await this.#member(city, at, query.session_id, 'query.session_id');
    if (at === undefined) return { index: head, value: { items: [], total: 0 } };
    const after = Math.max(query.after_sequence ?? 0, 0, member === undefined ? 0 : unreadAbove(member), descending ? 0 : (place ?? 0));
    const before = descending && place !== undefined ? place : query.before_sequence;
    const limit = query.limit <= 0 ? USUAL : Math.min(query.limit, MOST);
    const page = await this.repository.page(this.db, at.pk, { after, before, descending, limit });
    const items = page.rows.map((row) => toEntry(row, at));
    const next = page.more ? { next_cursor: encodeToken({ k: 'entry', s: page.rows.at(-1)!.sequence }) } : {};
    return { index: head, value: { items, total: items.length, ...next, earliest_sequence: at.earliest, latest_sequence: at.head } };
  }

  /** Never backwards. @throws ProblemError validation_failed */
  async acknowledge(city: CityScope, body: ExtMsgTranscriptAckInput, caller: Principal): Promise<OKResponseBody> {
    const conversation = conversationOf(body.conversation, { as: 'validation_failed', at: 'body.conversation' });
    requireOwn(caller, conversation);
    const { sequence = 0 } = body;
    if (sequence < 0) throw problem('validation_failed', 'extmsg invalid input: sequence must be non-negative', { at: 'body.sequence' });
    const names = await this.targets.selectors(city, body.session_id.trim());
    await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const at = await this.conversations.lock(tx, city.streamId, conversation);
        const head = at?.head ?? 0;
        if (sequence > head)
          throw problem('validation_failed', `extmsg invalid input: ack sequence ${sequence} exceeds head ${head}`, {
            at: 'body.sequence',
          });
        const member = at && (await this.memberships.find(tx, at.pk, names));
        if (member === undefined) throw noMember('body.session_id');
        await this.memberships.acknowledge(tx, member.pk, sequence);
      },
      { key: city.name },
    );
    return { status: 'acked' };
  }

  async #member(city: CityScope, at: ConversationRow | undefined, text: string, where: string): Promise<MembershipRow> {
    const member = at && (await this.memberships.find(this.db, at.pk, await this.targets.selectors(city, text.trim())));
    if (member === undefined) throw noMember(where);
    return member;
  }
}

/** Participants see all that there is, who only has the conversation what came since. */
function unreadAbove({ last_read_sequence: read, joined_sequence: joined, owners }: MembershipRow): number {
  return read === 0 && !owners.includes('group') ? joined : read;
}

function noMember(at: string): Error {
  return problem('validation_failed', 'extmsg membership not found', { at });
}

function refOf(query: TranscriptQuery): Partial<ConversationRef> {
  const { scope_id, provider, account_id, conversation_id, parent_conversation_id, kind } = query;
  const parts = { scope_id, provider, account_id, conversation_id, parent_conversation_id, kind };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}

function placeOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  const { k, s } = decodeToken(cursor) ?? {};
  if (k === 'entry' && Number.isSafeInteger(s)) return s as number;
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}
