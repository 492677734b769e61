import { SUPERVISOR, type LogRow, type OperationKind, type Write } from './history.js';
import type { Delivery } from './model-delivery.js';
import type { World } from './model-world.js';

interface Pending {
  readonly id: string;
  readonly kind: OperationKind;
  readonly city: string;
}

/** Those who write to the model: events of cities, and operations that end. */
export class Writer {
  readonly operations = new Map<string, { kind: string; target: string; state: string }>();
  readonly #pending: Pending[] = [];
  #serial = 0;

  constructor(
    private readonly world: World,
    private readonly delivery: Delivery,
  ) {}

  emit(): void {
    const names = [...this.world.running].sort();
    if (names.length === 0) return;
    const city = this.world.random.pick(names);
    const marker = `m${++this.#serial}`;
    const key = this.world.random.chance(0.3) ? `k${this.#serial}` : undefined;
    const replica = this.world.random.pick(this.world.replicas).name;
    const common = { marker, kind: 'emit' as const, city, replica, from: this.world.now, ...(key === undefined ? {} : { key }) };
    this.world.now += this.world.random.int(1, 9);
    const to = this.world.now;
    if (this.world.random.chance(0.05)) {
      if (this.world.is('refused, but committed', 0.8)) this.#append(city, 'custom.one', { message: marker });
      else if (this.world.is('publish before commit', 0.8)) this.delivery.publishUncommitted(city, marker);
      return void this.world.history.writes.push({ ...common, to, outcome: 'refused', status: 503, body: '{}', problem: true });
    }
    if (this.world.is('acknowledged before commit', 0.1)) {
      const seq = this.world.log.stream(city).rows.length + 1;
      return void this.world.history.writes.push({ ...common, to, outcome: 'acknowledged', status: 201, body: `{"seq":${seq}}`, seq });
    }
    const type = this.world.random.pick(['custom.one', 'custom.two']);
    const row = this.#append(city, type, { message: marker });
    if (this.world.is('identity-ordered read', 0.2)) this.world.hidden.add(row);
    const seq = this.world.is('a sequence a replica', 0.3) ? Math.max(1, row.seq - 1) : row.seq;
    const answer = { outcome: 'acknowledged' as const, status: 201, body: `{"status":"recorded","seq":${seq}}`, seq };
    if (this.world.random.chance(0.1)) this.world.history.writes.push({ ...common, to, outcome: 'unknown' });
    else this.world.history.writes.push({ ...common, to, ...answer });
    if (key !== undefined && this.world.random.chance(0.7)) this.#repeat({ ...common, to, ...answer }, type);
  }

  #repeat(write: Write, type: string): void {
    let { seq, body } = write;
    if (this.world.is('two effects under one key')) this.#append(write.city, type, { message: write.marker });
    if (this.world.is('different answers under one key')) {
      seq = this.#append(write.city, type, { message: `${write.marker}-again` }).seq;
      body = `{"status":"recorded","seq":${seq}}`;
    }
    const replica = this.world.random.pick(this.world.replicas).name;
    const first = this.world.history.writes.at(-1)!;
    // The same answer as the first, whether or not that one arrived.
    this.world.history.writes.push({
      ...write,
      replica,
      from: first.to + 1,
      to: first.to + 5,
      ...(seq === undefined ? {} : { seq }),
      ...(body === undefined ? {} : { body }),
    });
    this.world.now = first.to + 5;
  }

  #append(stream: string, type: string, members: { message?: string; subject?: string; payload?: object } = {}): LogRow {
    return this.world.log.append(stream, type, members);
  }

  create(name: string): void {
    const kind = this.world.log.has(name) ? 'city.register' : 'city.create';
    const from = this.world.now;
    if (this.world.bug === 'counter reset on re-create' && this.world.log.has(name)) this.world.log.reset(name);
    this.world.log.join(name);
    if (!this.world.is('city without an event')) this.#append(name, 'city.created', { subject: name, payload: { name } });
    if (this.world.is('event without a city')) this.world.log.cities.delete(name);
    this.#accept(kind, name, from);
  }

  lifecycle(): void {
    const idle = this.world.log.names.filter((n) => !this.#pending.some((p) => p.city === n));
    const registered = idle.filter((n) => this.world.log.cities.has(n));
    const action = this.world.random.int(0, 4);
    const city = registered.length === 0 ? undefined : this.world.random.pick(registered);
    if (action === 0) this.create(`city-${this.world.log.names.length}`);
    else if (action === 1) {
      const gone = idle.filter((n) => !this.world.log.cities.has(n));
      if (gone.length > 0) this.create(this.world.random.pick(gone));
    } else if (city === undefined) return;
    else if (action === 2) this.#accept(this.world.running.has(city) ? 'city.stop' : 'city.start', city, this.world.now);
    else if (registered.length > 2 && !this.world.opaque) {
      // With stored cursors the feed only grows here: what a stale one says of a stream that left is not modelled.
      const from = this.world.now;
      this.#append(city, 'city.unregister_requested', { subject: city, payload: { name: city } });
      this.world.log.leave(city);
      this.world.running.delete(city);
      this.#accept('city.unregister', city, from);
    }
  }

  #accept(kind: OperationKind, city: string, from: number): void {
    const id = `req-${++this.#serial}`;
    this.world.now += 3;
    const common = { marker: id, kind, city, replica: 'a', from, to: this.world.now };
    if (this.world.is('refused operation carried out'))
      this.world.history.writes.push({ ...common, outcome: 'refused', status: 409, body: '{}', problem: true });
    else if (this.world.random.chance(0.1)) this.world.history.writes.push({ ...common, outcome: 'unknown' });
    else this.world.history.writes.push({ ...common, outcome: 'acknowledged', status: 202, body: `{"request_id":"${id}"}`, requestId: id });
    if (this.world.is('operation dropped after 202')) return;
    this.operations.set(id, { kind, target: city, state: 'accepted' });
    this.#pending.push({ id, kind, city });
  }

  finish(): void {
    const at = this.#pending.length === 0 ? -1 : this.world.random.int(0, this.#pending.length - 1);
    const operation = this.#pending.splice(Math.max(at, 0), 1)[0];
    if (operation === undefined || this.world.is('operation never ends')) return;
    const { id, kind, city } = operation;
    const succeeded = this.world.random.chance(0.8) || kind === 'city.unregister';
    this.operations.get(id)!.state = succeeded ? 'succeeded' : 'failed';
    if (this.world.is('terminal event outside the transaction')) return;
    if (succeeded && kind === 'city.stop') this.#append(city, 'controller.stopped');
    if (succeeded && kind === 'city.stop') this.world.running.delete(city);
    if (succeeded && ['city.create', 'city.register', 'city.start'].includes(kind) && this.world.log.cities.has(city)) {
      this.#append(city, 'controller.started');
      this.world.running.add(city);
    }
    const tell = (ok: boolean): LogRow =>
      this.#append(SUPERVISOR, ok ? `request.result.${kind}` : 'request.failed', { subject: city, payload: { request_id: id } });
    tell(succeeded);
    if (this.world.is('two terminal events')) tell(succeeded);
    if (this.world.is('stale worker ends an operation')) tell(!succeeded);
  }

  finishAll(): void {
    while (this.#pending.length > 0) this.finish();
  }
}
