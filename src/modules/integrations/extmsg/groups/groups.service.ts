import { Injectable } from '@nestjs/common';
import { ExtmsgGroupCreated } from '../../../../contract/events/extmsg.events.js';
import type { Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { Db } from '../../../../platform/database/database.js';
import type { OKResponseBody } from '../../../../contract/scalars.js';
import { event } from '../../../../platform/event-log/event.js';
import { newId } from '../../../../platform/time/clock.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { byName } from '../../../sessions/session-names/by-name.js';
import type { SessionChanges } from '../../../sessions/session-store/session-changes.js';
import { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import { isSame, requireOpen, selectorOf, type Target } from '../bindings/target.js';
import { Targets } from '../bindings/targets.service.js';
import { conversationOf, factsOf, requireOwn, shown, type Conversation } from '../conversations/conversation.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { ConversationKind, requireFew, tidyMetadata } from '../conversations/conversations.schemas.js';
import { toGroup, toParticipant } from './groups.mapper.js';
import { GroupsRepository, type GroupRow, type ParticipantRow } from './groups.repository.js';
import {
  USUAL_FANOUT,
  type ConversationGroupParticipant,
  type ConversationGroupRecord,
  type ExtMsgGroupEnsureInput,
  type ExtMsgParticipantRemoveInput,
  type ExtMsgParticipantUpsertInput,
  type GroupQuery,
} from './groups.schemas.js';
import { MembershipsRepository } from './memberships.repository.js';

/** Handles of one group. */
const MOST_PARTICIPANTS = 100;

/** Conversations that several answer in. A handle makes its session a member; who has another one stays one. */
@Injectable()
export class GroupsService {
  constructor(
    private readonly db: Db,
    private readonly sessions: SessionChangesService,
    private readonly targets: Targets,
    private readonly conversations: ConversationsRepository,
    private readonly repository: GroupsRepository,
    private readonly memberships: MembershipsRepository,
  ) {}

  /** @throws ProblemError extmsg_group_not_found, also for a conversation that cannot be one */
  async find(city: CityScope, query: GroupQuery, caller: Principal): Promise<ConversationGroupRecord> {
    const conversation = askedFor(query);
    if (conversation !== undefined) requireOwn(caller, conversation);
    const at = conversation && (await this.conversations.find(this.db, city.streamId, conversation));
    const group = at && (await this.repository.of(this.db, at.pk));
    if (group === undefined) {
      const which = conversation === undefined ? '' : ` ${shown(conversation)} (${conversation.kind})`;
      throw problem('extmsg_group_not_found', `group not found for conversation${which}`);
    }
    return toGroup(group, await this.repository.participants(this.db, group.pk));
  }

  /** Makes the group of a conversation, or says anew what it is. @throws ProblemError validation_failed */
  async ensure(city: CityScope, body: ExtMsgGroupEnsureInput, caller: Principal): Promise<ConversationGroupRecord> {
    const conversation = conversationOf(body.root_conversation, { as: 'validation_failed', at: 'body.root_conversation' });
    requireOwn(caller, conversation);
    const mode = (body.mode ?? '').trim().toLowerCase() || 'launcher';
    if (mode !== 'launcher') throw problem('validation_failed', `extmsg invalid input: unknown group mode "${mode}"`, { at: 'body.mode' });
    const group = await this.sessions.run(city, caller.actor, async (changes) => {
      const at = await this.conversations.ensure(changes.tx, city.streamId, conversation);
      const metadata = tidyMetadata(body.metadata);
      requireFew(metadata, (await this.repository.of(changes.tx, at.pk))?.metadata);
      const ensured = await this.repository.ensure(changes.tx, at, {
        id: newId('group'),
        mode,
        defaultHandle: handleOf(body.default_handle ?? ''),
        fanout: body.fanout_policy ?? USUAL_FANOUT,
        metadata,
      });
      const { stream } = city;
      changes.emit(event(ExtmsgGroupCreated, { stream, actor: caller.actor, subject: ensured.id, payload: { ...factsOf(ensured), mode } }));
      return ensured;
    });
    return toGroup(group);
  }

  /** Gives a handle to somebody, or to somebody else. @throws ProblemError extmsg_group_not_found, session_not_found, ambiguous */
  async upsert(city: CityScope, body: ExtMsgParticipantUpsertInput, caller: Principal): Promise<ConversationGroupParticipant> {
    const handle = requireHandle(body.handle);
    await this.#visible(city, body.group_id, caller);
    const text = body.session_id.trim();
    const participant = await byName(async () =>
      this.#upsert(city, body, { handle, text, target: await this.targets.either(city, text) }, caller),
    );
    return toParticipant(participant, body.group_id);
  }

  #upsert(
    city: CityScope,
    body: ExtMsgParticipantUpsertInput,
    { handle, text, target }: { readonly handle: string; readonly text: string; readonly target: Target },
    caller: Principal,
  ): Promise<ParticipantRow> {
    return this.sessions.run(city, caller.actor, async (changes) => {
      if (target.sessionPk !== null) requireOpen(await changes.require(target.sessionPk, text), text);
      const group = await this.#locked(changes, body.group_id);
      const all = await this.repository.participants(changes.tx, group.pk);
      const before = all.find((each) => each.handle === handle);
      if (before === undefined && all.length >= MOST_PARTICIPANTS)
        throw problem('validation_failed', `extmsg invalid input: a group has ${MOST_PARTICIPANTS} participants at the most`, {
          at: 'body.handle',
        });
      const metadata = tidyMetadata(body.metadata);
      requireFew(metadata, before?.metadata);
      const isPublic = body.public === true;
      const at = { pk: group.pk, stream_id: city.streamId };
      const row = await this.repository.upsert(changes.tx, at, { id: newId('part'), handle, target, isPublic, metadata });
      await this.memberships.join(changes.tx, { pk: group.conversation_pk, stream_id: city.streamId }, target, 'group');
      if (before !== undefined && !isSame(target, before)) await this.#leave(changes, group, before);
      return row;
    });
  }

  /** @throws ProblemError extmsg_group_not_found; validation_failed for a handle that nobody has had */
  async remove(city: CityScope, body: ExtMsgParticipantRemoveInput, caller: Principal): Promise<OKResponseBody> {
    const handle = requireHandle(body.handle);
    await this.#visible(city, body.group_id, caller);
    await this.sessions.run(city, caller.actor, async (changes) => {
      const group = await this.#locked(changes, body.group_id);
      const participant = await this.repository.participant(changes.tx, group.pk, handle);
      if (participant === undefined) throw problem('validation_failed', `extmsg group route not found: @${handle}`, { at: 'body.handle' });
      if (participant.closed_at !== null) return;
      await this.repository.close(changes.tx, participant.pk);
      await this.#leave(changes, group, participant);
    });
    return { status: 'removed' };
  }

  /** Whoever has no handle of the group any more is a member by it no longer. */
  async #leave({ tx }: SessionChanges, group: GroupRow, who: ParticipantRow): Promise<void> {
    const target: Target = {
      sessionPk: who.session_pk,
      sessionId: who.session_id,
      sessionName: who.session_name,
      agentName: who.agent_name,
    };
    const others = await this.repository.participants(tx, group.pk);
    if (!others.some((each) => isSame(target, each)))
      await this.memberships.leave(tx, [{ conversationPk: group.conversation_pk, selector: selectorOf(target) }], 'group');
  }

  async #visible(city: CityScope, id: string, caller: Principal): Promise<void> {
    const group = await this.repository.byId(this.db, city.streamId, id);
    if (group === undefined) throw noGroup(id);
    requireOwn(caller, group);
  }

  async #locked({ tx, city }: SessionChanges, id: string): Promise<GroupRow> {
    const found = await this.repository.byId(tx, city.streamId, id);
    if (found === undefined) throw noGroup(id);
    await this.conversations.lockPk(tx, found.conversation_pk);
    return found;
  }
}

function noGroup(id: string): Error {
  return problem('extmsg_group_not_found', `extmsg group not found: ${id}`);
}

export const handleOf = (text: string): string => text.trim().replace(/^@/, '').toLowerCase();

/** @throws ProblemError validation_failed */
export function requireHandle(text: string, at = 'body.handle'): string {
  const handle = handleOf(text);
  if (handle === '' || /\s/.test(handle))
    throw problem('validation_failed', 'extmsg invalid handle: it has to be one word, such as dev or @dev', { at });
  return handle;
}

/** The conversation that a query asks for; undefined where parts of it are missing or wrong. */
function askedFor({ kind, ...parts }: GroupQuery): Conversation | undefined {
  const known = ConversationKind.safeParse(kind);
  if (!known.success) return undefined;
  for (const name of ['scope_id', 'provider', 'account_id', 'conversation_id'] as const)
    if ((parts[name] ?? '').trim() === '') return undefined;
  return conversationOf({ ...defined(parts), kind: known.data }, { as: 'invalid_request', at: 'query' });
}

function defined<T extends object>(parts: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as never;
}
