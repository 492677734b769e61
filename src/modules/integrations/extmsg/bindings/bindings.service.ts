import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../../contract/token.js';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { NewEvent } from '../../../../platform/event-log/event.js';
import type { Indexed } from '../../../../platform/http/indexed.js';
import { newId } from '../../../../platform/time/clock.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { byName } from '../../../sessions/session-names/by-name.js';
import { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import { conversationOf, requireOwn, type Conversation, type ConversationRow } from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { requireFew, tidyMetadata, type Metadata } from '../conversations/conversations.schemas.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import { MembershipsRepository } from '../groups/memberships.repository.js';
import { boundEvent, unboundEvent, type Telling, type UnboundReason } from './binding-events.js';
import { toBinding } from './bindings.mapper.js';
import { BindingsRepository, type BindingFacts, type BindingFilter, type BindingRow } from './bindings.repository.js';
import type {
  BindingsQuery,
  ExtMsgBindInput,
  ExtMsgUnbindBody,
  ExtMsgUnbindInput,
  ListBodySessionBindingRecord,
  SessionBindingRecord,
} from './bindings.schemas.js';
import { isSame, requireOpen, selectorOf, type Target } from './target.js';
import { Targets } from './targets.service.js';

const PAGE = 500;
/** Ended bindings that one answer shows, if they are not too long. */
const SHOWN = 1_000;
/** Conversations that are bound to one session: what ends it ends all of them at once. Those of a configured name, and of groups, are not counted. */
const MOST = 10_000;

export interface Binding {
  readonly target: Target;
  readonly replace: boolean;
  readonly metadata: Metadata;
  readonly expiresAt?: Date | undefined;
}

/** Who answers in which conversation. One at a time; each change is one transaction under the lock of the conversation. */
@Injectable()
export class BindingsService {
  constructor(
    private readonly db: Db,
    private readonly sessions: SessionChangesService,
    private readonly targets: Targets,
    private readonly conversations: ConversationsRepository,
    private readonly repository: BindingsRepository,
    private readonly memberships: MembershipsRepository,
    private readonly deliveries: DeliveriesRepository,
  ) {}

  /** @throws ProblemError invalid_request, session_not_found, ambiguous; conflict where another has the conversation */
  async bind(city: CityScope, body: ExtMsgBindInput, caller: Principal): Promise<SessionBindingRecord> {
    const [sessionId, agentName] = [body.session_id?.trim() ?? '', body.agent_name?.trim() ?? ''];
    if (sessionId === '' && agentName === '') throw problem('invalid_request', 'session_id or agent_name is required', { at: 'body' });
    if (sessionId !== '' && agentName !== '')
      throw problem('invalid_request', 'session_id and agent_name are mutually exclusive', { at: 'body' });
    const conversation = conversationOf(body.conversation, { as: 'invalid_request', at: 'body.conversation' });
    requireOwn(caller, conversation);
    const expiresAt = body.expires_at === undefined ? undefined : new Date(body.expires_at);
    const metadata = tidyMetadata(body.metadata);
    const row = await byName(async () => {
      const target = await (agentName === '' ? this.targets.session(city, sessionId) : this.targets.agent(city, agentName));
      return this.#bind(city, caller, conversation, sessionId, { target, replace: body.replace === true, metadata, expiresAt });
    });
    return toBinding(row);
  }

  #bind(city: CityScope, { actor }: Principal, conversation: Conversation, sessionId: string, binding: Binding): Promise<BindingRow> {
    const { sessionPk } = binding.target;
    return this.sessions.run(city, actor, async (changes) => {
      if (sessionPk !== null) requireOpen(await changes.require(sessionPk, sessionId), sessionId);
      const at = await this.conversations.ensure(changes.tx, city.streamId, conversation);
      const { bound, events } = await this.bindIn(changes.tx, at, binding, { stream: city.stream, actor });
      changes.emit(...events);
      return bound;
    });
  }

  /** In a transaction that has the conversation locked, and the session if it is one. @throws ProblemError conflict; validation_failed for too much metadata */
  async bindIn(
    tx: Tx,
    at: ConversationRow,
    { target, replace, metadata, expiresAt }: Binding,
    telling: Telling,
  ): Promise<{ bound: BindingRow; events: NewEvent[] }> {
    const events = await this.expireIn(tx, at, telling);
    const active = await this.repository.active(tx, at.pk);
    if (active !== undefined && isSame(target, active)) {
      requireFew(metadata, active.metadata);
      await this.memberships.join(tx, at, target, 'binding');
      const bound = await this.repository.refresh(tx, active.pk, metadata, expiresAt);
      return { bound, events: [...events, boundEvent(telling, bound)] };
    }
    if (active !== undefined && !replace) {
      const owner = active.agent_name === '' ? active.session_id : `agent ${active.agent_name}`;
      throw problem('conflict', `extmsg binding conflict: conversation already bound to ${owner}`);
    }
    const { sessionPk, sessionId } = target;
    if (sessionPk !== null && (await this.repository.count(tx, at.stream_id, sessionPk, MOST)) >= MOST)
      throw problem('conflict', `${MOST} conversations are bound to session ${sessionId} already`);
    if (active !== undefined) events.push(...(await this.endIn(tx, at.stream_id, [at.pk], {}, 'replaced', telling)).events);
    const generation = await this.conversations.nextGeneration(tx, at.pk);
    const bound = await this.repository.insert(tx, at, { id: newId('bind'), target, generation, metadata, expiresAt });
    await this.memberships.join(tx, at, target, 'binding');
    if (active !== undefined) await this.#handOver(tx, at, active, target);
    return { bound, events: [...events, boundEvent(telling, bound)] };
  }

  /** Who has a conversation now hears what waited for who had it. */
  #handOver(tx: Tx, at: ConversationRow, { session_id, agent_name }: BindingRow, { sessionPk, ...to }: Target): Promise<void> {
    const before = selectorOf({ sessionId: session_id, agentName: agent_name });
    return this.deliveries.handOver(tx, at, before, { selector: selectorOf(to), sessionPk });
  }

  /** Ends the binding of a locked conversation whose time is over. */
  async expireIn(tx: Tx, at: ConversationRow, telling: Telling): Promise<NewEvent[]> {
    return (await this.endIn(tx, at.stream_id, [at.pk], { overdue: true }, 'expired', telling)).events;
  }

  /** Ends active bindings of locked conversations, and what their holders were members by. */
  async endIn(
    tx: Tx,
    streamId: number,
    conversationPks: readonly number[],
    filter: BindingFilter & { overdue?: boolean },
    reason: UnboundReason,
    telling: Telling,
    of?: string,
  ): Promise<{ ended: BindingFacts[]; events: NewEvent[] }> {
    const ended = await this.repository.end(tx, streamId, conversationPks, filter);
    const members = ended.map(({ conversation_pk: conversationPk, session_id, agent_name }) => ({
      conversationPk,
      selector: selectorOf({ sessionId: session_id, agentName: agent_name }),
    }));
    await this.memberships.leave(tx, members, 'binding');
    return { ended, events: ended.length === 0 ? [] : [unboundEvent(telling, ended, reason, of)] };
  }

  /** All that fit, or none. @throws ProblemError invalid_request where nothing says which */
  async unbind(city: CityScope, body: ExtMsgUnbindInput, caller: Principal): Promise<ExtMsgUnbindBody> {
    const [sessionId, agentName] = [body.session_id?.trim() ?? '', body.agent_name?.trim() ?? ''];
    if (body.conversation === undefined && sessionId === '' && agentName === '')
      throw problem('invalid_request', 'conversation, session_id, or agent_name is required', { at: 'body' });
    const conversation =
      body.conversation === undefined ? undefined : conversationOf(body.conversation, { as: 'invalid_request', at: 'body.conversation' });
    if (conversation !== undefined) requireOwn(caller, conversation);
    else if (caller.adapter !== undefined) throw problem('forbidden', 'extmsg unauthorized: an adapter says which conversation it means');
    const session = sessionId === '' ? undefined : await this.targets.known(city, sessionId);
    if (sessionId !== '' && session === undefined) return { unbound: [] };
    const agent = agentName === '' ? undefined : (await this.targets.known(city, agentName))?.agentName || agentName;
    const unbound = await this.sessions.run(city, caller.actor, async (changes) => {
      const { tx } = changes;
      const at = conversation && (await this.conversations.lock(tx, city.streamId, conversation));
      if (conversation !== undefined && at === undefined) return [];
      const filter: BindingFilter = {
        ...(at === undefined ? {} : { conversationPk: at.pk }),
        ...(session === undefined ? {} : session.sessionPk === null ? { agentName: session.agentName } : { sessionPk: session.sessionPk }),
        ...(agent === undefined ? {} : { agentName: agent }),
      };
      const pks = at === undefined ? await this.repository.conversations(tx, city.streamId, filter) : [at.pk];
      if (at === undefined) await this.conversations.lockAll(tx, pks);
      const telling = { stream: city.stream, actor: caller.actor };
      const done = await this.endIn(tx, city.streamId, pks, filter, 'unbound', telling, sessionId || agentName);
      changes.emit(...done.events);
      return this.repository.first(
        tx,
        done.ended.slice(0, SHOWN).map(({ pk }) => pk),
      );
    });
    return { unbound: unbound.map(toBinding) };
  }

  /** @throws ProblemError invalid_request without a session; invalid_cursor */
  async list(city: CityScope, query: BindingsQuery): Promise<Indexed<ListBodySessionBindingRecord>> {
    const text = query.session_id?.trim() ?? '';
    if (text === '') throw problem('invalid_request', 'session_id query parameter is required', { at: 'query.session_id' });
    const after = placeOf(query.cursor);
    const head = await this.conversations.eventHead(this.db, city.streamId);
    const target = await this.targets.known(city, text);
    const { rows, more } =
      target === undefined ? NOTHING : await this.repository.page(this.db, city.streamId, target, { after, limit: PAGE });
    const items = rows.map(toBinding);
    const next = more ? { next_cursor: encodeToken({ k: 'binding', pk: rows.at(-1)!.pk }) } : {};
    return { index: head, value: { items, total: items.length, ...next } };
  }
}

const NOTHING = { rows: [], more: false };

function placeOf(cursor: string | undefined): number {
  if (cursor === undefined || cursor === '') return 0;
  const { k, pk } = decodeToken(cursor) ?? {};
  if (k === 'binding' && Number.isSafeInteger(pk)) return pk as number;
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}
