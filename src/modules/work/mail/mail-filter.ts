import { sql, type RawBuilder } from 'kysely';
import { HUMAN } from './message-record.js';

export type MailStatus = 'unread' | 'all' | 'archived';

/** Which messages of a city a read is about; absent members do not restrict. */
export interface MailFilter {
  readonly status: MailStatus;
  /** The mailbox. */
  readonly principal?: string | undefined;
  /** The sender: a principal, or the text of one that had none. */
  readonly from?: { readonly principal: string; readonly text: string } | undefined;
  /** The id of a thread or of a message in it. */
  readonly thread?: string | undefined;
  /** Part of the subject or the body, in upper or lower case. */
  readonly text?: string | undefined;
  /** Matches nothing. */
  readonly nothing?: boolean | undefined;
}

/** SQL for the table alias `m` (`messages`): the one predicate behind lists, counts and threads. */
export interface MailConditions {
  /** What the indexes answer. */
  readonly held: RawBuilder<boolean>;
  /** What each message that is held is looked at for; undefined for nothing. */
  readonly looked: RawBuilder<boolean> | undefined;
}

export function matches(streamId: number, filter: MailFilter): MailConditions {
  const { principal, from, thread, text } = filter;
  const looked: RawBuilder<unknown>[] = [];
  const parts = [sql`m.stream_id = ${streamId}`, STATES[filter.status]];
  if (filter.nothing === true) parts.push(sql`false`);
  if (principal !== undefined) parts.push(sql`m.principal = ${principal}`);
  if (from !== undefined) looked.push(isFrom(from));
  if (thread !== undefined)
    parts.push(
      sql`m.thread_id = coalesce((select t.thread_id from messages t where t.stream_id = ${streamId} and t.id = ${thread}), ${thread})`,
    );
  if (text !== undefined) looked.push(sql`(strpos(lower(m.subject), lower(${text})) > 0 or strpos(lower(m.body), lower(${text})) > 0)`);
  const all = (conditions: RawBuilder<unknown>[]): RawBuilder<boolean> => sql<boolean>`${sql.join(conditions, sql` and `)}`;
  return { held: all(parts), looked: looked.length === 0 ? undefined : all(looked) };
}

/** People have one mailbox, and what each of them has sent is found under the name that he has. */
function isFrom({ principal, text }: NonNullable<MailFilter['from']>): RawBuilder<unknown> {
  const signed = sql`coalesce(m.sender_principal, ${HUMAN.principal}) = ${HUMAN.principal} and m.sender = ${text}`;
  return principal === HUMAN.principal ? sql`(${signed})` : sql`(m.sender_principal = ${principal} or (${signed}))`;
}

const STATES: Readonly<Record<MailStatus, RawBuilder<boolean>>> = {
  unread: sql`message_is_open(m) and m.read_at is null`,
  all: sql`message_is_open(m)`,
  archived: sql`m.archived_at is not null and m.archived_as <> 'deleted'`,
};
