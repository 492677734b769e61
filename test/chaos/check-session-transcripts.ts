import { isDeepStrictEqual } from 'node:util';
import { grouped } from './history-parts.js';
import type { EntryEnd, SessionsHistory } from './sessions-history.js';
import type { Violations } from './violations.js';

/** Turns that ended while everybody was listening. */
const WHOLE = new Set(['end_turn', 'cancelled']);
const SHOWS_MESSAGE = new Set(['in_flight', 'delivered', 'unconfirmed']);

/** Without gaps, the same on every replica, and what the agents say that was said to them and by them. */
export function checkSessionTranscripts(history: SessionsHistory, violations: Violations): void {
  const entries = grouped(history.entries, ({ session }) => session);
  for (const session of history.sessions) {
    const rows = entries.get(session.id) ?? [];
    const wrong = (message: string, ...more: unknown[]): void => violations.add('transcript true', `${session.id}: ${message}`, ...more);
    const back = rows.find(({ seq }, at) => seq <= (rows[at - 1]?.seq ?? 0) || seq > session.head);
    if (back !== undefined) wrong(`place ${back.seq} is taken twice or ahead of the head ${session.head}`, back);
    if (rows.length !== session.entries) wrong(`${rows.length} entries, counted as ${session.entries}`, session);
    if (new Set(rows.map(({ rev }) => rev)).size !== rows.length) wrong('two entries have one position');
    if (new Set(rows.map(({ id }) => id)).size !== rows.length) wrong('two entries have one id');
    const ahead = rows.find(({ rev }) => rev > session.head);
    if (ahead !== undefined) wrong(`an entry is ahead of the head ${session.head}`, ahead);
    const partial = rows.find(
      (row) => row.status === 'partial' && session.state === 'closed' && row.kind === 'message' && row.role === 'user',
    );
    if (partial !== undefined) wrong('what somebody sent is partial for ever', partial);
  }
  const shown = new Map(
    [...entries].map(([session, rows]) => [session, rows.map(({ id, role, status, blocks }) => ({ id, role, status, blocks }))]),
  );
  for (const { session, replica, messages } of history.transcripts) {
    const rows = shown.get(session) ?? [];
    const other = Math.max(messages.length, rows.length);
    for (let at = 0; at < other; at++) {
      if (isDeepStrictEqual(messages[at], rows[at])) continue;
      violations.add('transcript true', `${session}: ${replica} shows something else at place ${at + 1}`, messages[at], rows[at]);
      break;
    }
  }
  messagesOnce(history, violations);
  spoken(history, entries, violations);
}

/** Somebody's words stand in the transcript once when an agent was given them, and not at all when it never was. */
function messagesOnce(history: SessionsHistory, violations: Violations): void {
  const count = new Map<string, number>();
  for (const { message } of history.entries) if (message !== null) count.set(message, (count.get(message) ?? 0) + 1);
  for (const row of history.messages) {
    const times = count.get(row.id) ?? 0;
    if (times > 1) violations.add('delivered once', `${row.id} stands in the transcript ${times} times`, row);
    if (times === 0 && SHOWS_MESSAGE.has(row.status))
      violations.add('transcript true', `${row.id} is ${row.status} and not in the transcript`, row);
    if (times > 0 && ['queued', 'cancelled', 'expired'].includes(row.status))
      violations.add('transcript true', `${row.id} is ${row.status} and in the transcript`, row);
  }
}

/** What an agent keeps of a turn that has ended in order is, to the letter, what the transcript shows. */
function spoken(history: SessionsHistory, entries: ReadonlyMap<string, readonly EntryEnd[]>, violations: Violations): void {
  const answers = new Map<string, string>();
  for (const { said } of history.conversations)
    for (const [at, { role, text }] of said.entries()) {
      const next = said[at + 1];
      if (role === 'user' && next?.role === 'agent') answers.set(text, next.text);
    }
  const ends = new Map(history.turns.map(({ session, turn, stopReason }) => [`${session}/${turn}`, stopReason]));
  const bodies = new Map(history.messages.map(({ id, body }) => [id, body]));
  const chosen = new Map<string, number>();
  for (const [session, rows] of entries) {
    const turns = grouped(rows, ({ turn }) => String(turn));
    for (const [turn, own] of turns) {
      const asked = own.find(({ message }) => message !== null)?.message;
      const body = asked === undefined || asked === null ? undefined : bodies.get(asked);
      const answer = body === undefined ? undefined : answers.get(body);
      if (answer === undefined) continue;
      const choice = /^chosen: (.*)$/.exec(answer)?.[1];
      if (choice !== undefined) chosen.set(`${session}/${choice}`, (chosen.get(`${session}/${choice}`) ?? 0) + 1);
      if (!WHOLE.has(ends.get(`${session}/${turn}`) ?? '')) continue;
      const heard = own
        .filter(({ kind, role }) => kind === 'message' && role === 'assistant')
        .flatMap(({ blocks }) => blocks.map(({ text }) => text ?? ''));
      if (heard.join('') !== answer)
        violations.add('transcript true', `${session}: turn ${turn} is not what the agent said`, {
          heard: heard.join('').slice(0, 200),
          answer: answer.slice(0, 200),
        });
    }
  }
  for (const [key, times] of chosen) {
    const [session, action] = key.split('/');
    const given = history.interactions.filter((one) => one.session === session && one.action === action).length;
    if (times > given) violations.add('answered once', `${session} was told "${action}" ${times} times, answered ${given} times`);
  }
}
