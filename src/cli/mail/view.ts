import type { Schemas } from '../api.js';
import { age, moment } from '../duration.js';
import type { Io } from '../io.js';
import { block, facts, table } from '../table.js';

export type Message = Schemas['Message'];

export function mailTable(messages: readonly Message[], io: Io): string {
  const rows = messages.map((m) => [m.id, m.read ? '' : 'unread', m.from, m.to, String(m.priority ?? ''), age(m.created_at), m.subject]);
  return table(['ID', 'STATE', 'FROM', 'TO', 'P', 'AGE', 'SUBJECT'], rows, io);
}

/** A message for a reader: its head, an empty line, its body. */
export function mailText(m: Message): string {
  const head = facts([
    ['id', m.id],
    ['from', m.from],
    ['to', m.to],
    ['cc', (m.cc ?? []).join(', ')],
    ['subject', m.subject],
    ['sent', moment(m.created_at)],
    ['state', m.read ? 'read' : 'unread'],
    ['priority', m.priority],
    ['rig', m.rig],
    ['thread', m.thread_id],
    ['reply to', m.reply_to],
    ['answer', m.answerable === false ? `not possible: ${m.from} has no mailbox` : undefined],
  ]);
  return m.body === '' ? head : `${head}\n${block(m.body)}`;
}
