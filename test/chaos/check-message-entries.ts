import { isDeepStrictEqual } from 'node:util';
import { logical } from './attempt.js';
import { grouped } from './history-parts.js';
import type { EntriesView, EntryEnd, MessageAsk, MessagesHistory } from './messages-history.js';
import { earlyEchoes } from './messages-told.js';
import type { Violations } from './violations.js';

/** What comes from outside is one entry however often it comes, entries have no gaps, and every replica shows them. */
export function checkMessageEntries(history: MessagesHistory, violations: Violations): void {
  const entries = grouped(history.entries, ({ conversation }) => conversation);
  const asked = logical(history.asks.filter(({ kind }) => kind === 'inbound'));
  for (const { conversation, head } of history.conversations) {
    const own = entries.get(conversation) ?? [];
    own.forEach((entry, n) => {
      if (entry.sequence !== n + 1) violations.add('no gaps', `${conversation}: ${entry.sequence} stands at place ${n + 1}`, entry);
    });
    if (head !== own.length) violations.add('no gaps', `${conversation}: its head is ${head}, of ${own.length} entries`, own.at(-1));
  }
  for (const [key, own] of grouped(history.entries, ({ conversation, message }) => `${conversation} ${message}`))
    if (own.length > 1 && own[0]!.message !== '') violations.add('once from outside', `${key} is there ${own.length} times`, ...own);
  for (const entry of history.entries)
    if (entry.kind === 'inbound' && !asked.has(entry.message))
      violations.add('nothing uncommitted', `${entry.message} was sent by nobody`, entry);
  const echoes = earlyEchoes(history);
  for (const [message, attempts] of asked) {
    const entry = entries.get(attempts[0]!.conversation!)?.find((one) => one.message === message);
    once(message, attempts, entry, entry !== undefined && echoes.has(`${entry.conversation} ${entry.sequence}`), violations);
  }
  for (const view of history.views) shown(view, entries.get(view.conversation) ?? [], violations);
  acknowledged(history, violations);
}

function once(
  message: string,
  attempts: readonly MessageAsk[],
  entry: EntryEnd | undefined,
  isEarlyEcho: boolean,
  violations: Violations,
): void {
  const taken = attempts.filter(({ outcome, sequence }) => outcome === 'acknowledged' && sequence !== undefined);
  if (entry === undefined) {
    if (taken.length > 0) violations.add('reliable', `${message} was accepted and is lost`, ...taken);
    return;
  }
  if (entry.kind === 'inbound' && attempts.every(({ outcome }) => outcome === 'refused'))
    violations.add('nothing uncommitted', `${message} was refused, and is there`, entry);
  for (const one of taken)
    if (one.sequence !== entry.sequence) violations.add('idempotent', `${message} was answered as ${one.sequence}`, one, entry);
  const first = taken.filter(({ duplicate }) => duplicate !== true);
  const lost = attempts.some(({ outcome }) => outcome === 'unknown');
  if (first.length > 1 || (first.length > 0 && entry.kind === 'outbound' && !isEarlyEcho))
    violations.add('once from outside', `${message} was taken for new ${first.length} times`, ...first);
  if (entry.kind === 'inbound' && first.length === 0 && !lost)
    violations.add('once from outside', `${message} had always come before`, ...attempts);
}

/** One after the other, as they are kept. */
function shown({ replica, conversation, whole, unreadBy, entries }: EntriesView, kept: readonly EntryEnd[], violations: Violations): void {
  const descending = entries.length > 1 && entries[0]!.sequence > entries[1]!.sequence;
  const wrong = (what: string, entry: EntryEnd | undefined): void =>
    violations.add('no gaps', `${conversation}: ${replica} shows ${what}`, entry, kept[(entry?.sequence ?? 0) - 1]);
  entries.forEach((entry, n) => {
    if (n > 0 && entry.sequence !== entries[n - 1]!.sequence + (descending ? -1 : 1))
      wrong(`${entry.sequence} after ${entries[n - 1]!.sequence}`, entry);
    if (!isDeepStrictEqual(entry, kept[entry.sequence - 1])) wrong('an entry that is kept otherwise', entry);
  });
  if (whole && unreadBy === undefined && entries.length !== kept.length)
    wrong(`${entries.length} of ${kept.length} entries`, entries.at(-1));
}

/** Who has read something has read it for ever. */
function acknowledged({ asks, steady, members, views, entries }: MessagesHistory, violations: Violations): void {
  for (const { conversation, selector } of steady) {
    const own = asks.filter((ask) => ask.kind === 'ack' && ask.conversation === conversation && ask.session === selector);
    const sent = own.filter(({ outcome }) => outcome !== 'refused');
    const taken = own.filter(({ outcome }) => outcome === 'acknowledged');
    const most = (of: readonly MessageAsk[]): number => of.reduce((top, { sequence }) => Math.max(top, sequence!), 0);
    const wrong = (what: string, ...more: unknown[]): void =>
      violations.add('acks kept', `${selector} in ${conversation} ${what}`, ...more);
    const row = members.find((member) => member.conversation === conversation && member.selector === selector);
    if (row === undefined) wrong('is no member any more');
    else if (row.read < most(taken) || row.read > most(sent)) wrong(`has read up to ${row.read}`, row, ...taken.slice(-2));
    const head = entries.filter((entry) => entry.conversation === conversation).length;
    for (const ask of taken) if (ask.sequence! > head) wrong(`has read what is not there`, ask);
    for (const view of views.filter((one) => one.conversation === conversation && one.unreadBy === selector)) {
      const first = view.entries[0]?.sequence;
      if (first === undefined) continue;
      const before = taken.filter(({ to }) => to < view.from);
      if (first <= most(before)) wrong(`is shown ${first} once more`, view, ...before.slice(-2));
      if (first > most(sent) + 1) wrong(`is not shown what comes before ${first}`, view);
    }
  }
}
