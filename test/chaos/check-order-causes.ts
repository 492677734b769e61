import { logical } from './attempt.js';
import { grouped } from './history-parts.js';
import { ORDERS, type ChaosOrder } from './orders-city.js';
import type { FiringEnd, OrderAsk, OrdersHistory } from './orders-history.js';
import type { Violations } from './violations.js';

/** What fires orders: requests, deliveries, events and the clock, each of them once. */
export function checkOrderCauses(history: OrdersHistory, violations: Violations): void {
  asked(history, violations);
  const firings = grouped(history.firings, ({ order }) => order);
  for (const order of ORDERS) {
    const own = (firings.get(order.name) ?? []).toSorted((a, b) => a.pk - b.pk);
    for (const firing of own)
      if (!mayBe(order, firing)) violations.add('fires once', `${firing.id}: ${firing.cause} fires no ${order.name}`, firing);
    if (order.trigger === 'event') events(history, order, own, violations);
    if (order.trigger === 'cooldown') cooldown(order, own, violations);
    if (order.trigger === 'cron') slots(history, own, violations);
  }
}

function mayBe({ trigger, forced }: ChaosOrder, { cause, event }: FiringEnd): boolean {
  if ((event !== null) !== (cause === 'event')) return false;
  return cause === 'run' ? trigger === 'manual' || forced === true : cause === trigger;
}

/** One firing for what was accepted, none for what was refused, and never two. */
function asked({ asks, firings, deliveries }: OrdersHistory, violations: Violations): void {
  const marked = grouped(
    firings.filter(({ cause }) => cause === 'run' || cause === 'webhook'),
    ({ mark }) => mark ?? '',
  );
  const known = logical(asks.filter(({ kind }) => kind !== 'emit'));
  for (const [mark, own] of marked)
    if (!known.has(mark)) violations.add('nothing uncommitted', `${own[0]!.id}: nobody has asked for ${mark}`, own[0]);
  for (const [mark, attempts] of known) one(mark, attempts, marked.get(mark) ?? [], violations);
  for (const delivery of deliveries) {
    if (delivery.waiting) violations.add('reliable', `${delivery.firing}: a delivery still waits`, delivery);
    else if (!firings.some(({ id }) => id === delivery.firing))
      violations.add('reliable', `${delivery.firing}: a delivery was not fired`, delivery);
  }
}

function one(mark: string, attempts: readonly OrderAsk[], fired: readonly FiringEnd[], violations: Violations): void {
  const taken = attempts.filter(({ outcome }) => outcome === 'acknowledged');
  const [firing] = fired;
  const { kind, order } = attempts[0]!;
  if (fired.length > 1) violations.add('fires once', `${mark}: ${fired.length} firings`, ...fired);
  if (firing === undefined) {
    if (taken.length > 0) violations.add('reliable', `${mark}: accepted, and not fired`, ...taken);
    return;
  }
  if (attempts.every(({ outcome }) => outcome === 'refused')) violations.add('nothing uncommitted', `${mark}: refused, and fired`, firing);
  if (firing.order !== order || firing.cause !== (kind === 'run' ? 'run' : 'webhook'))
    violations.add('fires once', `${mark}: another order was fired than ${order}`, firing);
  if (kind === 'run') {
    for (const attempt of taken)
      if (attempt.firing !== firing.id) violations.add('idempotent', `${mark}: another firing is answered`, attempt, firing);
    return;
  }
  // The others are told that it has come before.
  const first = taken.filter(({ status }) => status === 202).length;
  const lost = attempts.some(({ outcome }) => outcome === 'unknown');
  if (first > 1 || (first === 0 && !lost)) violations.add('idempotent', `${mark}: ${first} of its deliveries count`, ...attempts);
}

/** Each event after the order's beginning once and in turn, or all up to the one that is handed over. */
function events(history: OrdersHistory, order: ChaosOrder, firings: readonly FiringEnd[], violations: Violations): void {
  const { name, on, delivery } = order;
  const start = history.starts.find((one) => one.order === name)?.cursor ?? 0;
  const seqs = history.log.filter(({ type, seq }) => type === on && seq > start).map(({ seq }) => seq);
  seqs.sort((a, b) => a - b);
  const wrong = (message: string, ...entries: unknown[]): void => violations.add('fires once', `${name}: ${message}`, ...entries);
  const handed = firings.flatMap((firing) => (firing.event === null ? [] : [{ firing, ...firing.event }]));
  let at = 0;
  for (const { firing, seq, type, count } of handed) {
    if (type !== on) wrong(`${firing.id} was handed an event of another kind`, firing);
    const next = seqs.indexOf(seq);
    if (next < at) wrong(next < 0 ? `${seq} is no event of it` : `${seq} was handed over before`, firing);
    else if (delivery === 'each' && next > at) wrong(`${seqs[at]} was left out before ${seq}`, firing);
    const stands = delivery === 'each' ? 1 : next + 1 - at;
    if (next >= at && count !== stands) wrong(`${firing.id} stands for ${count} events, not for ${stands}`, firing);
    at = Math.max(at, next + 1);
  }
  if (at < seqs.length) wrong(`${seqs.length - at} events are handed to nobody, from ${seqs[at]} on`);
  const row = history.orders.find((one) => one.order === name);
  const last = seqs.at(-1) ?? start;
  if (row !== undefined && handed.length > 0 && row.cursor !== last) wrong(`its row says that it is at ${row.cursor}, not at ${last}`, row);
}

/** Between two beginnings there is an interval, by whatever the first one was fired. */
function cooldown({ name, intervalMs }: ChaosOrder, firings: readonly FiringEnd[], violations: Violations): void {
  for (const [n, firing] of firings.entries()) {
    const before = firings[n - 1];
    if (before === undefined || firing.cause !== 'cooldown') continue;
    const passed = firing.createdAt - before.createdAt;
    if (passed < intervalMs!) violations.add('fires once', `${name}: fired ${passed} ms after ${before.id}`, before, firing);
  }
}

/** No more firings than there were slots. */
function slots({ moves, spans }: OrdersHistory, firings: readonly FiringEnd[], violations: Violations): void {
  const minutes = spans.reduce((sum, { from, to }) => sum + Math.floor(to / 60_000) - Math.floor(from / 60_000), 0);
  const most = minutes + moves.length;
  if (firings.length > most) violations.add('fires once', `${firings.length} firings for ${most} slots`, firings.at(-1));
}
