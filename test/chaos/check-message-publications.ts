import { logical } from './attempt.js';
import { grouped } from './history-parts.js';
import { ROUTED } from './messages-city.js';
import type { AdapterCall, BindingEnd, DeliveryEnd, EntryEnd, MessageAsk, MessagesHistory } from './messages-history.js';
import { toldOf } from './messages-told.js';
import type { Violations } from './violations.js';

/** From the look at the binding to the call itself, on a machine that does everything at once. */
const SLACK_MS = 1_500;

/** What sessions publish: once, under one id, to one end, and never once another has the conversation. */
export function checkMessagePublications(history: MessagesHistory, violations: Violations): void {
  const own = history.deliveries.filter(({ direction }) => direction === 'outbound');
  const rows = grouped(own, ({ body }) => body);
  const asked = logical(history.asks.filter(({ kind }) => kind === 'outbound'));
  for (const [text, found] of rows)
    if (!asked.has(text)) violations.add('nothing uncommitted', `${text} was published by nobody`, ...found);
  for (const [text, attempts] of asked) taken(text, attempts, rows.get(text) ?? [], violations);
  const calls = grouped(history.calls, ({ text }) => text);
  const bindings = new Map(history.bindings.map((one) => [`${one.conversation} ${one.generation}`, one]));
  const entries = new Map(history.entries.map((one) => [`${one.conversation} ${one.sequence}`, one]));
  for (const row of own) {
    ended(row, calls.get(row.body) ?? [], entries.get(`${row.conversation} ${row.sequence}`), violations);
    allowed(row, bindings.get(`${row.conversation} ${row.generation}`), violations);
  }
  told(history, own, violations);
  ids(history, own, violations);
  fenced(history, rows, violations);
}

function taken(text: string, attempts: readonly MessageAsk[], rows: readonly DeliveryEnd[], violations: Violations): void {
  const accepted = attempts.filter(({ outcome }) => outcome === 'acknowledged');
  const [row] = rows;
  if (rows.length > 1) violations.add('idempotent', `${text} was taken ${rows.length} times`, ...rows);
  if (row === undefined) {
    if (accepted.length > 0) violations.add('reliable', `${text} was accepted and is lost`, ...accepted);
    return;
  }
  if (attempts.every(({ outcome }) => outcome === 'refused')) violations.add('nothing uncommitted', `${text} was refused, and taken`, row);
  const { session, conversation } = attempts[0]!;
  if (conversation !== row.conversation || (session !== ROUTED && session !== row.selector))
    violations.add('reliable', `${text} was taken from somebody else, or for somewhere else`, row, attempts[0]);
  for (const one of accepted) {
    if (one.delivery !== row.id) violations.add('idempotent', `${text} was answered as ${one.delivery}`, one, row);
    if (one.state !== 'pending' && (one.state !== row.state || (one.sequence ?? null) !== row.sequence))
      violations.add('one final state', `${text} was ${one.state}, and is ${row.state}`, one, row);
  }
}

function ended(row: DeliveryEnd, calls: readonly AdapterCall[], entry: EntryEnd | undefined, violations: Violations): void {
  const { body, state, key, code, receipt } = row;
  const wrong = (what: string, ...more: unknown[]): void => violations.add('one final state', `${body} ${what}`, row, ...more);
  const has = calls.some(({ said }) => said === 'taken');
  if (state === 'delivered') {
    if (!has) wrong('is delivered, and its adapter does not have it', ...calls);
    if (receipt !== `out-${key}`) wrong('has the receipt of another');
    if (entry?.message !== receipt || entry.text !== body) wrong('is delivered, and is not its entry', entry);
    if (entry?.kind === 'outbound' && entry.session !== row.selector) wrong('is the entry of another session', entry);
  } else if (state === 'failed') {
    if (row.sequence !== null) wrong('has failed, and has an entry');
    if (has && code !== 'fenced') wrong('has failed, and its adapter has it', ...calls);
    if (code !== 'fenced' && !calls.some(({ said }) => said === 'refused')) wrong('has failed, and nobody has refused it', ...calls);
  } else wrong(`is ${state} at the end`);
}

function allowed(row: DeliveryEnd, binding: BindingEnd | undefined, violations: Violations): void {
  if (row.generation === 0) return;
  if (binding === undefined || (binding.holder !== row.selector && binding.holder !== ROUTED))
    violations.add('fenced', `${row.body} was taken from who does not have the conversation`, row, binding);
  if (row.code === 'fenced' && binding?.active === true)
    violations.add('fenced', `${row.body} is fenced, and its binding counts`, row, binding);
}

function told(history: MessagesHistory, own: readonly DeliveryEnd[], violations: Violations): void {
  const key = (conversation: string, message: string): string => `${conversation} ${message}`;
  const events = grouped(toldOf(history, 'extmsg.outbound'), ({ payload }) => key(payload.conversation_id, payload.message_id!));
  for (const row of own.filter(({ state }) => state === 'delivered')) {
    const found = events.get(key(row.conversation, row.receipt)) ?? [];
    events.delete(key(row.conversation, row.receipt));
    if (found.length !== 1) violations.add('one final state', `${found.length} events say that ${row.body} is delivered`, row, ...found);
    for (const { payload } of found)
      if (payload.sequence !== row.sequence || (payload.binding_generation ?? 0) !== row.generation)
        violations.add('one final state', `${row.body} is told otherwise`, row, payload);
  }
  for (const [what, found] of events) violations.add('one final state', `${what} is told to be delivered, and is not`, ...found);
}

/** An adapter can tell what it has got already. */
function ids({ calls }: MessagesHistory, own: readonly DeliveryEnd[], violations: Violations): void {
  const keys = new Map(own.map(({ body, key }) => [body, key]));
  for (const call of calls) {
    const key = keys.get(call.text);
    if (key === undefined) violations.add('nothing uncommitted', `an adapter got ${call.text}, which is not stored`, call);
    else if (key !== call.key) violations.add('one id', `${call.text} was sent as ${call.key}, and is ${key}`, call);
  }
  for (const [key, found] of grouped(calls, (call) => call.key))
    if (new Set(found.map(({ text }) => text)).size > 1) violations.add('one id', `${key} was sent for several`, ...found);
}

/** A process that was paused after its look may call too late: nobody can keep it from that. */
function fenced(history: MessagesHistory, rows: ReadonlyMap<string, readonly DeliveryEnd[]>, violations: Violations): void {
  const ends = history.asks.filter(
    ({ kind, outcome, generation }) => (kind === 'bind' || kind === 'unbind') && outcome === 'acknowledged' && generation !== undefined,
  );
  const pauses = history.faults.filter(({ pause }) => pause === true);
  for (const call of history.calls) {
    const generation = rows.get(call.text)?.[0]?.generation ?? 0;
    if (generation === 0) continue;
    const end = ends.find(
      (one) =>
        one.conversation === call.conversation &&
        (one.kind === 'bind' ? generation < one.generation! : generation <= one.generation!) &&
        call.at > one.to + SLACK_MS,
    );
    if (end === undefined || pauses.some(({ from, to }) => from < call.at && to > end.to)) continue;
    violations.add('fenced', `${call.text} was published ${Math.round(call.at - end.to)} ms after its binding had ended`, call, end);
  }
}
