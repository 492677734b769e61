import { orderOf, type ChaosOrder } from './orders-city.js';
import type { FiringEnd, OrdersHistory } from './orders-history.js';
import { grouped } from './history-parts.js';
import type { Violations } from './violations.js';

/** An event of an order, as the log has it. */
interface Told {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly message?: string;
  readonly run_id?: string;
}

/** What may be done twice is begun this often before it is given up. */
const ATTEMPTS = 3;

/** Firings against the log: one at a time an order, each begun and ended once, what is kept of them, and what is counted. */
export function checkOrderFirings(history: OrdersHistory, violations: Violations): void {
  const told = grouped(toldOf(history), ({ subject }) => subject);
  const firings = grouped(history.firings, ({ order }) => order);
  for (const name of told.keys())
    if (!orderOf.has(name)) violations.add('history true', `${name} is told about, and is no order`, told.get(name)![0]);
  for (const order of orderOf.values()) {
    const own = (firings.get(order.name) ?? []).toSorted((a, b) => a.pk - b.pk);
    new OrderCheck(history, order, told.get(order.name) ?? [], own, violations).run();
  }
}

export function toldOf({ log }: OrdersHistory): Told[] {
  return log
    .filter(({ type }) => type === 'order.fired' || type === 'order.completed' || type === 'order.failed')
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ text }) => JSON.parse(text) as Told);
}

class OrderCheck {
  readonly #fired: readonly Told[];
  readonly #ended: readonly Told[];
  readonly #forced: number;

  constructor(
    private readonly history: OrdersHistory,
    private readonly order: ChaosOrder,
    private readonly told: readonly Told[],
    private readonly firings: readonly FiringEnd[],
    private readonly violations: Violations,
  ) {
    this.#fired = told.filter(({ type }) => type === 'order.fired');
    this.#ended = told.filter(({ type }) => type !== 'order.fired');
    this.#forced = firings.filter(({ forced }) => forced).length;
  }

  run(): void {
    this.#oneAtATime();
    this.#ends();
    this.#counts();
    if (this.#forced === 0) this.#inTurn();
    this.#failures();
    this.#shown();
  }

  #oneAtATime(): void {
    const { name } = this.order;
    let open = 0;
    for (const told of this.told) {
      open += told.type === 'order.fired' ? 1 : -1;
      if (open > 1 + this.#forced) this.violations.add('one firing', `${name}: fired while a firing of it is open`, told);
      if (open < 0) this.violations.add('ends once', `${name}: an end without a beginning`, told);
      open = Math.max(0, open);
    }
    if (open > 0) this.violations.add('ends once', `${name}: ${open} firings have no end`, this.told.at(-1));
  }

  #ends(): void {
    const { name, idempotent, what } = this.order;
    for (const firing of this.firings) {
      const { id, state, outcome, attempts } = firing;
      if (state !== 'done' || outcome === null) this.violations.add('ends once', `${name}: ${id} has not ended`, firing);
      if (outcome === 'lost' && (idempotent === true || what === 'formula') && attempts < ATTEMPTS)
        this.violations.add('ends once', `${name}: ${id} is lost, and could have been begun again`, firing);
    }
  }

  /** As many of each as the history has. */
  #counts(): void {
    const { name } = this.order;
    const good = this.firings.filter(({ outcome }) => outcome === 'success').length;
    const completed = this.#ended.filter(({ type }) => type === 'order.completed').length;
    const bad = this.firings.filter(({ outcome }) => outcome !== null && outcome !== 'success').length;
    const pairs = [
      ['firings', this.firings.length, this.#fired.length],
      ['good ends', good, completed],
      ['bad ends', bad, this.#ended.length - completed],
    ] as const;
    for (const [what, kept, told] of pairs)
      if (kept !== told) this.violations.add('history true', `${name}: ${kept} ${what} are kept, ${told} are told`);
  }

  /** Without forced ones they come one after the other: what is told of each is known. */
  #inTurn(): void {
    for (const [n, firing] of this.firings.entries()) {
      const [fired, ended] = [this.#fired[n], this.#ended[n]];
      const { id, cause, outcome } = firing;
      const wrong = (what: string): void => this.violations.add('history true', `${this.order.name}: ${id}: ${what}`, firing, fired, ended);
      if (fired !== undefined && fired.message?.startsWith(`${cause}:`) !== true) wrong('another cause is told');
      if (ended !== undefined && (ended.type === 'order.completed') !== (outcome === 'success')) wrong('another end is told');
    }
  }

  #failures(): void {
    const row = this.history.orders.find(({ order }) => order === this.order.name);
    if (row === undefined) return this.violations.add('failures counted', `${this.order.name} has no row`);
    const failures = this.#ended.length - 1 - this.#ended.findLastIndex(({ type }) => type === 'order.completed');
    if (row.failures !== failures)
      this.violations.add('failures counted', `${row.order}: ${row.failures} in a row are counted, ${failures} are told`, row);
    const last = this.#ended.at(-1)?.type;
    const told = last === undefined ? null : last === 'order.completed';
    if (told !== (row.lastOutcome === null ? null : row.lastOutcome === 'success'))
      this.violations.add('failures counted', `${row.order}: ${row.lastOutcome} is not how the last one has ended`, row);
  }

  /** Every replica shows what is kept, the newest first. */
  #shown(): void {
    const row = this.history.orders.find(({ order }) => order === this.order.name);
    const kept = this.firings.toReversed().map(({ id, state, cause, outcome, root }) => ({ id, state, cause, outcome, root }));
    for (const shown of this.history.shown.filter(({ order }) => order === this.order.name)) {
      const at = kept.findIndex((firing, n) => JSON.stringify(firing) !== JSON.stringify(shown.entries[n]));
      if (at >= 0 || shown.entries.length !== kept.length)
        this.violations.add('history true', `${shown.order}: ${shown.replica} shows another history`, kept.at(at), shown.entries.at(at));
      if (shown.failures !== row?.failures || shown.lastOutcome !== row.lastOutcome)
        this.violations.add('failures counted', `${shown.order}: ${shown.replica} shows others`, row, shown.failures, shown.lastOutcome);
    }
  }
}
