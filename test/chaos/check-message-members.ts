import { grouped } from './history-parts.js';
import { CONVERSATIONS, ROUTED } from './messages-city.js';
import type { DeliveryEnd, EntryEnd, MessagesHistory } from './messages-history.js';
import { Holders } from './messages-holders.js';
import { earlyEchoes, toldOf } from './messages-told.js';
import type { Violations } from './violations.js';

/** Conversations whose members may be told only so often of each other. */
const LIMITED = new Set(CONVERSATIONS.filter(({ most }) => most !== undefined).map(({ id }) => id));
const keyOf = ({ conversation, sequence }: { conversation: string; sequence: number | null }): string => `${conversation} ${sequence}`;

/** Each member is told once of each entry, or a failure lists it; agents were given exactly that. */
export function checkMessageMembers(history: MessagesHistory, violations: Violations): void {
  const own = history.deliveries.filter(({ direction }) => direction !== 'outbound');
  const byEntry = grouped(own, keyOf);
  const entries = new Set(history.entries.map(keyOf));
  for (const [key, deliveries] of byEntry) {
    if (!entries.has(key)) violations.add('members told', `${key} is no entry, and members are told of it`, ...deliveries);
    for (const [selector, both] of grouped(deliveries, (one) => one.selector))
      if (both.length > 1) violations.add('members told', `${selector} is told of ${key} ${both.length} times`, ...both);
  }
  const holders = new Holders(history);
  for (const delivery of own) ended(delivery, byEntry.get(keyOf(delivery))!, holders, violations);
  failures(history, violations);
  audience(history, byEntry, holders, violations);
  steadyOnes(history, byEntry, violations);
  given(history, own, violations);
  for (const [line, deliveries] of grouped(own, ({ conversation, selector }) => `${conversation} ${selector}`))
    inTurn(
      line,
      deliveries.filter((one) => !holders.mayBeHandedOver(one, byEntry.get(keyOf(one))!)),
      violations,
    );
}

function ended(delivery: DeliveryEnd, others: readonly DeliveryEnd[], holders: Holders, violations: Violations): void {
  const { id, direction, state, code, message } = delivery;
  const wrong = (what: string): void => violations.add('members told', `${id} ${what}`, delivery);
  if (state === 'skipped') {
    const limited = code === 'fanout_limit' && direction === 'peer' && LIMITED.has(delivery.conversation);
    const told = code === 'told_already' && others.some((one) => one.id !== id && one.state !== 'skipped');
    const left = code === 'no_member' && holders.mayHaveLeft(delivery);
    if (!limited && !told && !left) wrong(`is skipped without a reason`);
  } else if (state === 'delivered') {
    if (message !== 'delivered') wrong(`is delivered, and its message is ${message}`);
  } else if (state !== 'failed') wrong(`is ${state} at the end`);
  else if (message === 'delivered') wrong('has failed, and its message is delivered');
}

/** What has failed for good is told once, and in the lists. */
function failures(history: MessagesHistory, violations: Violations): void {
  const told = grouped(toldOf(history, 'extmsg.delivery_failed'), ({ payload }) => payload.delivery_id!);
  const failed = history.deliveries.filter(({ state }) => state === 'failed');
  for (const delivery of history.deliveries) {
    const count = told.get(delivery.id)?.length ?? 0;
    if (count !== (delivery.state === 'failed' ? 1 : 0))
      violations.add('one final state', `${delivery.id} is ${delivery.state}, and ${count} events say that it has failed`, delivery);
    told.delete(delivery.id);
  }
  for (const id of told.keys()) violations.add('one final state', `${id} is told to have failed, and is not there`);
  const ids = failed.map(({ id }) => id).toReversed();
  for (const { replica, ids: listed } of history.listed)
    if (JSON.stringify(listed) !== JSON.stringify(ids))
      violations.add(
        'one final state',
        `${replica} lists ${listed.length} failures, of ${ids.length}`,
        listed.find((id, n) => id !== ids[n]),
      );
}

/** As many as the event says, with whom it was for, or who has the conversation after him, among them. */
function audience(
  history: MessagesHistory,
  byEntry: ReadonlyMap<string, readonly DeliveryEnd[]>,
  holders: Holders,
  violations: Violations,
): void {
  const told = grouped(toldOf(history, 'extmsg.inbound'), ({ payload }) => `${payload.conversation_id} ${payload.sequence}`);
  for (const entry of history.entries.filter(({ kind }) => kind === 'inbound')) {
    const key = keyOf(entry);
    const events = told.get(key) ?? [];
    told.delete(key);
    if (events.length !== 1) violations.add('once from outside', `${events.length} events tell of ${key}`, entry, ...events);
    const inbound = (byEntry.get(key) ?? []).filter(({ direction }) => direction === 'inbound');
    for (const { payload } of events) {
      if (payload.members !== inbound.length)
        violations.add('members told', `${inbound.length} are told of ${key}, and not ${payload.members}`, entry, ...inbound);
      const target = payload.target_session || payload.target_agent;
      if (!inbound.some((one) => one.selector === target || holders.mayBeHandedOver(one, inbound)))
        violations.add('members told', `${target}, whom ${key} is for, is not told of it`, entry);
    }
    for (const ask of history.asks)
      if (ask.kind === 'inbound' && ask.marker === entry.message && ask.members !== undefined && ask.members !== inbound.length)
        violations.add('members told', `${inbound.length} are told of ${key}, and not ${ask.members}, as was answered`, ask);
  }
  const echoes = earlyEchoes(history);
  for (const [key, events] of told)
    if (!echoes.has(key) || events.length > 1) violations.add('once from outside', `${key} is told, and no entry from outside`, ...events);
}

/** Who is a member all the time is told of everything that somebody else has said. */
function steadyOnes(
  { entries, steady }: MessagesHistory,
  byEntry: ReadonlyMap<string, readonly DeliveryEnd[]>,
  violations: Violations,
): void {
  const isTold = ({ kind, session }: EntryEnd, selector: string): boolean =>
    // Which session had a configured name then is not known.
    kind === 'inbound' || (selector !== ROUTED && session !== selector);
  for (const { conversation, selector } of steady)
    for (const entry of entries)
      if (entry.conversation === conversation && isTold(entry, selector)) {
        if (!(byEntry.get(keyOf(entry)) ?? []).some((one) => one.selector === selector))
          violations.add('members told', `${selector} is not told of ${keyOf(entry)}`, entry);
      }
}

/** What agents keep is what was delivered to them; of what is not confirmed nobody knows. */
function given({ prompts }: MessagesHistory, own: readonly DeliveryEnd[], violations: Violations): void {
  const bodies = grouped(own, ({ body }) => body);
  const counts = new Map(prompts.map(({ text, count }) => [text, count]));
  for (const text of counts.keys())
    if (!bodies.has(text)) violations.add('nothing uncommitted', 'an agent was told what is not stored', text);
  for (const [body, deliveries] of bodies) {
    const least = deliveries.filter(({ state }) => state === 'delivered').length;
    const most = least + deliveries.filter(({ message }) => message === 'unconfirmed').length;
    const count = counts.get(body) ?? 0;
    if (count < least || count > most)
      violations.add('members told', `agents were told ${count} times, not ${least} to ${most}`, ...deliveries);
  }
}

/** Of one conversation a member is told in the order of its entries, but for what waited for somebody else. */
function inTurn(line: string, deliveries: readonly DeliveryEnd[], violations: Violations): void {
  const queued = deliveries.filter((one) => one.queued !== null).toSorted((a, b) => a.pk - b.pk);
  for (const [n, one] of queued.entries())
    if (n > 0 && queued[n - 1]!.queued! > one.queued!)
      violations.add('in order', `${line} is told ${one.sequence} too early`, queued[n - 1], one);
}
