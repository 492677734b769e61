import { logical } from './attempt.js';
import { grouped } from './history-parts.js';
import type { Ask, MessageEnd, SessionsHistory } from './sessions-history.js';
import type { Violations } from './violations.js';

const SENDS = new Set<string>(['message', 'submit', 'probe', 'create']);
const GIVEN = new Set(['delivered', 'unconfirmed', 'failed']);

/** What was sent is stored once, given to an agent at most once, and settled; everything accepted ends with one event. */
export function checkSessionMessages(history: SessionsHistory, violations: Violations): void {
  const sent = logical(history.asks.filter(({ kind }) => SENDS.has(kind)));
  const messages = grouped(history.messages, ({ body }) => body);
  const titles = grouped(history.sessions, ({ title }) => title);
  const prompts = new Map<string, number>();
  for (const { said } of history.conversations)
    for (const { role, text } of said) if (role === 'user') prompts.set(text, (prompts.get(text) ?? 0) + 1);
  for (const [marker, asks] of sent) {
    const [{ kind, text }] = asks as [Ask];
    made(marker, asks, kind === 'create' ? (titles.get(marker) ?? []).map(({ id }) => id) : undefined, violations);
    if (text === undefined) continue;
    const rows = messages.get(text) ?? [];
    if (kind !== 'create')
      made(
        marker,
        asks,
        rows.map(({ session }) => session),
        violations,
      );
    delivery(rows, prompts.get(text) ?? 0, asks, violations);
  }
  order(history, violations);
  operations(history, violations);
}

/** What came of a logical request, as the ids of sessions; undefined where that is looked at elsewhere. */
function made(marker: string, asks: readonly Ask[], found: readonly string[] | undefined, violations: Violations): void {
  if (found === undefined) return;
  const { kind, key, session } = asks[0]!;
  const taken = asks.filter(({ outcome }) => outcome === 'acknowledged');
  if (asks.every(({ outcome }) => outcome === 'refused')) {
    if (found.length > 0) violations.add('nothing uncommitted', `${kind} ${marker} was refused, and done`, ...asks);
    return;
  }
  if (found.length > 1) violations.add('idempotent', `${kind} ${marker} was done ${found.length} times`, ...asks);
  if (taken.length > 0 && found.length === 0) violations.add('reliable', `${kind} ${marker} was accepted and is lost`, ...taken);
  for (const one of taken)
    if (found.length > 0 && !found.includes(one.session ?? session ?? ''))
      violations.add('reliable', `${kind} ${marker} was done to ${found.join(', ')} instead`, one);
  if (key !== undefined && new Set(taken.map(({ requestId }) => requestId)).size > 1)
    violations.add('idempotent', `different answers under the key of ${kind} ${marker}`, ...taken);
}

/** Given to an agent at most once; exactly once when it is said to be delivered; never when it was taken back. */
function delivery(rows: readonly MessageEnd[], prompts: number, asks: readonly Ask[], violations: Violations): void {
  if (prompts > 1) violations.add('delivered once', `an agent was given a message ${prompts} times`, ...rows, ...asks);
  for (const row of rows) {
    if (row.status === 'queued' || row.status === 'in_flight')
      violations.add('message settled', `${row.id} is ${row.status} at the end`, row);
    if (row.status === 'delivered' && prompts === 0)
      violations.add('delivered once', `${row.id} is delivered, and no agent has it`, row, ...asks);
    if (!GIVEN.has(row.status) && prompts > 0)
      violations.add('delivered once', `${row.id} is ${row.status}, and an agent has it`, row, ...asks);
  }
  if (rows.length === 0 && prompts > 0) violations.add('nothing uncommitted', 'an agent was given what is not stored', ...asks);
}

/** First come, first served, except for what interrupts. */
function order(history: SessionsHistory, violations: Violations): void {
  const rows = new Map(history.messages.map((row) => [row.id, row]));
  const last = new Map<string, MessageEnd>();
  for (const { session, message } of history.entries) {
    const row = message === null ? undefined : rows.get(message);
    if (row === undefined || row.intent === 'interrupt_now') continue;
    const before = last.get(session);
    if (before !== undefined && before.pk > row.pk)
      violations.add('in order', `${session} was given ${before.id} before ${row.id}`, before, row);
    last.set(session, row);
  }
}

function operations(history: SessionsHistory, violations: Violations): void {
  const terminals = new Map<string, { readonly type: string; readonly stream: string }[]>();
  for (const { type, stream, text } of history.log) {
    if (type !== 'request.failed' && !type.startsWith('request.result.session.')) continue;
    const { payload } = JSON.parse(text) as { payload: { request_id: string; operation?: string } };
    if (type === 'request.failed' && payload.operation?.startsWith('session.') !== true) continue;
    terminals.set(payload.request_id, [...(terminals.get(payload.request_id) ?? []), { type, stream }]);
  }
  const stored = new Map(history.operations.map((one) => [one.id, one]));
  for (const ask of history.asks) {
    if (ask.requestId !== undefined && !stored.has(ask.requestId))
      violations.add('reliable', `an accepted ${ask.kind} is not stored as an operation`, ask);
  }
  for (const one of stored.values()) {
    const rows = terminals.get(one.id) ?? [];
    terminals.delete(one.id);
    if (rows.length !== 1) violations.add('one terminal event', `${one.id} (${one.kind}) has ${rows.length} terminal events`, one, ...rows);
    const expected = one.state === 'succeeded' ? `request.result.${one.kind}` : 'request.failed';
    for (const row of rows)
      if (row.type !== expected) violations.add('row with event', `${one.id} is ${one.state}, told as ${row.type}`, one, row);
  }
  for (const [id, rows] of terminals) violations.add('row with event', `a terminal event of no operation: ${id}`, ...rows);
}
