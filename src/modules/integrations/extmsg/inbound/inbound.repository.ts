import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { NewEvent } from '../../../../platform/event-log/event.js';
import type { BindingRow } from '../bindings/bindings.repository.js';
import { keyOf, type Conversation } from '../conversations/conversation.js';
import type { GroupFacts, ParticipantFacts } from '../groups/groups.repository.js';
import type { MembershipRow } from '../groups/memberships.repository.js';
import type { EntryRow } from '../transcript/transcript.repository.js';
import type { Found, FoundConversation } from './found.js';
import type { Taking } from './intake.js';

export interface Asked {
  readonly city: string;
  readonly conversation: Conversation;
  readonly onceKey: string;
}

interface Row {
  readonly running: boolean;
  readonly busy: boolean;
  readonly at: FoundConversation | null;
  readonly known: (EntryRow & { readonly created_at: string }) | null;
  readonly binding: (BindingRow & { readonly bound_at: string; readonly expires_at: string | null }) | null;
  readonly overdue: boolean;
  readonly group: GroupFacts | null;
  readonly participants: ParticipantFacts[];
  readonly members: MembershipRow[];
}

/** One that is to be taken if its conversation is as it was. */
export interface Expecting {
  readonly taking: Taking;
  readonly onceKey: string;
  readonly found: Found;
}

/** One that is taken: where it stands in what was given, the entry, and the head of its city's events. */
export interface Taken {
  readonly ord: number;
  readonly entry: EntryRow;
  readonly head: number;
}

interface TakenRow {
  readonly ord: number;
  readonly created_at: Date;
  readonly head: number;
}

/** Records of nobody: they are written by whoever has opened the transaction. */
export const NO_RECORDS = '[]';

/** SQL of messages from outside, of many cities at once: one call or two, however much there is to look at. */
@Injectable()
export class InboundRepository {
  /** What each finds, its conversation locked until the commit. What somebody else has locked is busy. */
  look(tx: Tx, asked: readonly Asked[]): Promise<Found[]> {
    return this.#look(tx, asked, false);
  }

  /** What a single one finds. It waits for its conversation, and for one that is made while it looks: that is never busy. */
  async wait(tx: Tx, asked: Asked): Promise<Found> {
    for (;;) {
      const [found] = await this.#look(tx, [asked], true);
      if (!found!.busy) return found!;
    }
  }

  async #look(tx: Tx, asked: readonly Asked[], wait: boolean): Promise<Found[]> {
    const items = asked.map(({ city, conversation, onceKey }) => ({ city, key: keyOf(conversation).toString('hex'), once: onceKey }));
    const { rows } = await sql<{ ord: number; found: Row }>`
      select o_ord as ord, o_found as found from extmsg_look(${JSON.stringify(items)}::jsonb, ${wait})`.execute(tx);
    const found: Found[] = [];
    for (const row of rows) found[row.ord] = toFound(row.found, asked[row.ord]!.conversation);
    return found;
  }

  /**
   * Writes entries, who is to be told of them, and their events: last in a transaction. Their sequences are the next ones of their
   * conversations, which are locked. By their places: those of `records`. Unless it `wait`s, those of cities whose event stream somebody else has locked are left out.
   */
  async take(tx: Tx, takings: ReadonlyMap<number, Taking>, wait: boolean, records: string): Promise<Taken[]> {
    const items = JSON.stringify([...takings].map(([ord, taking]) => toItem(ord, taking)));
    const { rows } = await sql<TakenRow>`
      select o_ord as ord, o_created_at as created_at, o_head as head
      from extmsg_take(${items}::jsonb, ${wait}, ${records}::jsonb)`.execute(tx);
    return rows.map(({ ord, created_at, head }) => ({ ord, head, entry: toRow(takings.get(ord)!, created_at) }));
  }

  /** The same as one statement and its own transaction, of those whose conversations are as they were found before. Of the others there is none. */
  async takeKnown(db: Db, expected: ReadonlyMap<number, Expecting>, records: string): Promise<Taken[]> {
    const items = JSON.stringify([...expected].map(([ord, { taking, ...rest }]) => toItem(ord, taking, rest)));
    const { rows } = await sql<TakenRow>`
      select o_ord as ord, o_created_at as created_at, o_head as head from extmsg_take(${items}::jsonb, false, ${records}::jsonb)`.execute(
      db,
    );
    return rows.map(({ ord, created_at, head }) => ({ ord, head, entry: toRow(expected.get(ord)!.taking, created_at) }));
  }
}

function toFound({ running, busy, at, known, binding, overdue, group, participants, members }: Row, conversation: Conversation): Found {
  return {
    ...{ running, busy, overdue, participants, members },
    ...(at === null ? {} : { at }),
    ...(known === null ? {} : { known: { ...known, created_at: new Date(known.created_at) } }),
    ...(binding === null
      ? {}
      : {
          binding: {
            ...{ ...binding, ...conversation, bound_at: new Date(binding.bound_at) },
            expires_at: binding.expires_at === null ? null : new Date(binding.expires_at),
          },
        }),
    ...(group === null ? {} : { group: { ...group, ...conversation } }),
  };
}

/**
 * An item of extmsg_take, `expecting` what was found before. PostgreSQL sorts the members of each object by the lengths of their names, then
 * by the names: it need not where they come so, which takes a twenty-fifth of a batch.
 */
function toItem(ord: number, taking: Taking, expecting?: Omit<Expecting, 'taking'>): object {
  const { city, at, entry, deliveries, addressed, adapterPk, events } = taking;
  const { id, providerMessageId, onceKey, actor, text, explicitTarget, replyTo, attachments, route } = entry;
  const { at: was, binding, group } = expecting?.found ?? {};
  return {
    ...{ grp: group?.pk, ord, city, head: was?.head, once: expecting?.onceKey },
    entry: {
      ...{ id, text, actor, route, once_key: onceKey, attachments, explicit_target: explicitTarget },
      ...{ provider_message_id: providerMessageId, reply_to_message_id: replyTo },
    },
    ...{ events: events.map(toEvent), stream: at.stream_id, adapter: adapterPk },
    ...{ expires: binding?.expires_at ?? undefined, routing: was?.routing, sequence: at.head + 1 },
    ...{ addressed, addressee: group?.last_addressed_handle },
    deliveries: deliveries.map((told) => ({ id: told.id, body: told.body, selector: told.selector, session_pk: told.sessionPk })),
    conversation: at.pk,
  };
}

/** Its stream is the item's. */
const toEvent = ({ stream: _, type, actor, message, payload, subject, version, ...rest }: NewEvent): object => ({
  ...{ type, actor, message, payload, subject, version, ...rest },
});

function toRow({ at, entry }: Taking, created_at: Date): EntryRow {
  const { id, kind, actor, text, route, attachments, providerMessageId, explicitTarget, replyTo, sourceSessionId } = entry;
  return {
    ...{ conversation_pk: at.pk, sequence: at.head + 1, id, kind, actor, text, route, created_at, attachments: [...attachments] },
    ...{ provider_message_id: providerMessageId, explicit_target: explicitTarget, reply_to_message_id: replyTo },
    source_session_id: sourceSessionId,
  };
}
