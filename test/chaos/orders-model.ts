import { ORDERS, type ChaosOrder } from './orders-city.js';
import { emptyOrders, type FiringEnd, type OrderAsk, type OrdersHistory, type ShownFiring } from './orders-history.js';
import { Random } from './random.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Firing = Writable<FiringEnd>;

/** Orders in small: without a mistake what it tells is right. Those of `orders-bugs.ts` are made in what it has told. */
export class OrdersModel {
  readonly history: OrdersHistory;
  readonly #random: Random;
  #now = 1_000_000;
  #serial = 0;
  #seq = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.history = emptyOrders(seed);
  }

  /** Each order is fired so often, and more. */
  run(least: number): OrdersHistory {
    const { history } = this;
    history.spans.push({ from: this.#now, to: this.#now + 1 });
    this.#event('chaos.one', 'before', {});
    for (const { name } of ORDERS) history.starts.push({ order: name, cursor: this.#seq });
    for (let turn = 0; turn < least; turn++) for (const order of ORDERS) this.#turn(order);
    for (const order of ORDERS) for (let more = this.#random.int(0, 2); more > 0; more--) this.#turn(order);
    this.#catchUp();
    for (const order of ORDERS) this.#finish(order);
    return history;
  }

  #turn(order: ChaosOrder): void {
    const { history } = this;
    switch (order.trigger) {
      case 'event':
        return this.#happens(order);
      case 'webhook':
      case 'manual':
        return this.#asked(order, order.trigger === 'manual' ? 'run' : 'hook');
      case 'cron':
        history.moves.push({ at: this.#tick() });
        break;
      default:
    }
    const firing = this.#fire(order, { cause: order.trigger });
    // Somebody forces one while it is carried out, and it ends whenever it does.
    if (order.forced === true) this.#asked(order, 'run', true);
    this.#end(order, firing);
  }

  /** Two that listen to one kind of events are handed the same ones. */
  #happens({ on }: ChaosOrder): void {
    const count = this.#random.int(1, 3);
    const marker = `e${++this.#serial}`;
    for (let n = 0; n < count; n++) this.#event(on!, `${marker}.${n}`, {});
    for (const order of ORDERS) if (order.on === on) this.#handOver(order);
  }

  #handOver(order: ChaosOrder): void {
    const { history } = this;
    const cursor =
      history.orders.find((row) => row.order === order.name)?.cursor ?? history.starts.find((row) => row.order === order.name)!.cursor;
    const seqs = history.log.filter(({ type, seq }) => type === order.on && seq > cursor).map(({ seq }) => seq);
    const handed =
      order.delivery === 'each' ? seqs.map((seq) => [seq, 1] as const) : seqs.slice(-1).map((seq) => [seq, seqs.length] as const);
    for (const [seq, count] of handed) this.#end(order, this.#fire(order, { cause: 'event', event: { seq, type: order.on!, count } }));
    const row = this.#row(order);
    row.cursor = seqs.at(-1) ?? cursor;
  }

  #catchUp(): void {
    for (const order of ORDERS) if (order.trigger === 'event') this.#handOver(order);
  }

  #asked(order: ChaosOrder, kind: 'run' | 'hook', forced = false): void {
    const { history } = this;
    const marker = `a${++this.#serial}`;
    const firing = this.#fire(order, { cause: kind === 'run' ? 'run' : 'webhook', mark: marker, forced });
    const keyed = kind === 'run' ? { key: `k-${marker}` } : {};
    for (let n = 0; n < 2; n++) {
      const answered = kind === 'run' ? { status: 202, firing: firing.id } : { status: n === 0 ? 202 : 200 };
      this.#ask({ kind, marker, order: order.name, ...keyed, ...answered, outcome: 'acknowledged' });
    }
    if (kind === 'hook') history.deliveries.push({ hook: order.name, firing: firing.id, waiting: false });
    else this.#ask({ kind, marker: `${marker}-not`, order: order.name, outcome: 'refused', status: 409, problem: true });
    this.#end(order, firing);
  }

  #ask(ask: Omit<OrderAsk, 'city' | 'replica' | 'from' | 'to'>): void {
    const from = this.#tick();
    this.history.asks.push({ city: 'town', replica: 'api-1', from, to: from + 1, ...ask });
  }

  #fire({ name }: ChaosOrder, facts: Pick<Firing, 'cause'> & Partial<Firing>): Firing {
    this.#now += 2_000;
    const pk = ++this.#serial;
    const firing: Firing = {
      pk,
      id: `firing-${pk}`,
      order: name,
      state: 'running',
      forced: false,
      createdAt: this.#now,
      attempts: 1,
      outcome: null,
      root: null,
      mark: null,
      event: null,
      ...facts,
    };
    this.history.firings.push(firing);
    this.#event('order.fired', name, { message: `${firing.cause}: so it is` });
    return firing;
  }

  #end(order: ChaosOrder, firing: Firing): void {
    const { history } = this;
    const { name, what, idempotent } = order;
    const again = what === 'formula' || idempotent === true;
    // The first of all ends well, so that there is one to make mistakes in.
    const known = history.firings.some((one) => one.order === name && one.outcome === 'success');
    const outcome = known ? this.#random.pick(['success', 'success', 'success', 'failed', 'lost']) : 'success';
    firing.state = 'done';
    firing.outcome = outcome;
    firing.attempts = again ? (outcome === 'lost' ? 3 : this.#random.int(1, 3)) : 1;
    const good = outcome === 'success';
    let run: string | undefined;
    if (what === 'formula' && good) {
      run = `town-${firing.pk}`;
      firing.root = run;
      history.runs.push({ id: run, firing: firing.id });
      this.#event('bead.created', run, { payload: { bead: { id: run, metadata: { 'gc.order_firing': firing.id } } } });
      const step = { 'gc.order_firing': firing.id, 'gc.root_bead_id': run };
      this.#event('bead.created', `${run}.look`, { payload: { bead: { id: `${run}.look`, metadata: step } } });
    }
    if (what === 'exec') {
      const line = { firing: firing.id, order: name, seq: String(firing.event?.seq ?? '') };
      for (let n = 0; n < firing.attempts; n++) history.traces.push({ what: 'begin', ...line });
      if (good) history.traces.push({ what: 'end', ...line });
    }
    this.#event(good ? 'order.completed' : 'order.failed', name, run === undefined ? {} : { run_id: run });
    const row = this.#row(order);
    row.failures = good ? 0 : row.failures + 1;
    row.lastOutcome = outcome;
  }

  #row({ name }: ChaosOrder): Writable<OrdersHistory['orders'][number]> {
    const { orders, starts } = this.history;
    let row = orders.find(({ order }) => order === name);
    if (row === undefined) {
      row = { order: name, failures: 0, lastOutcome: null, cursor: starts.find(({ order }) => order === name)!.cursor };
      orders.push(row);
    }
    return row;
  }

  #event(type: string, subject: string, more: object): void {
    const seq = ++this.#seq;
    this.history.log.push({ stream: 'town', seq, type, city: 'town', text: JSON.stringify({ seq, type, subject, payload: {}, ...more }) });
  }

  #tick(): number {
    return (this.#now += 10);
  }

  #finish({ name }: ChaosOrder): void {
    const { history } = this;
    const row = history.orders.find(({ order }) => order === name)!;
    const own = history.firings.filter(({ order }) => order === name).toReversed();
    const entries: ShownFiring[] = own.map(({ id, state, cause, outcome, root }) => ({ id, state, cause, outcome, root }));
    for (const replica of ['api-1', 'api-2'])
      history.shown.push({ replica, order: name, failures: row.failures, lastOutcome: row.lastOutcome, entries });
  }
}
