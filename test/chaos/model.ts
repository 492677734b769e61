import { formatOpaque } from '../../src/platform/streams/cursor.js';
import type { Bug } from './bugs.js';
import {
  emptyHistory,
  SUPERVISOR,
  type Connection,
  type Frame,
  type History,
  type LogRow,
  type OperationKind,
  type Subscriber,
  type Write,
} from './history.js';
import { ModelLog, type ModelStream } from './model-log.js';
import { Random } from './random.js';
import { wants, wireText } from './log-index.js';

const HEARTBEAT_MS = 1_000;

interface Live {
  readonly connection: Connection;
  readonly subscriber: Subscriber;
  /** Of each stream, what the client has. */
  readonly at: Map<string, number>;
  stuck: boolean;
  /** Streams that a replay has still to bring. */
  replaying: Set<string>;
}

interface Replica {
  readonly name: string;
  /** Of each stream of the feed, what its subscribers have been given. */
  readonly at: Map<string, number>;
  /** Where the streams were that have left the feed. */
  readonly left: Map<string, number>;
  listening: boolean;
  readonly live: Set<Live>;
}

interface Pending {
  readonly id: string;
  readonly kind: OperationKind;
  readonly city: string;
}

/**
 * A supervisor in small: a log, three replicas that read it at their own pace, clients that come back anywhere, and
 * operations that end. Without a bug its history is right; with one it makes that mistake now and then.
 */
export class Model {
  readonly history: History;
  readonly #random: Random;
  readonly #log: ModelLog;
  readonly #replicas: Replica[];
  readonly #opaque: boolean;
  readonly #running = new Set<string>();
  readonly #pending: Pending[] = [];
  readonly #operations = new Map<string, { kind: string; target: string; state: string }>();
  #now = 0;
  #serial = 0;
  /** Rows that are committed, but not visible to readers yet (only with a bug). */
  readonly #hidden = new Set<LogRow>();

  constructor(
    seed: number,
    private readonly bug?: Bug,
  ) {
    this.#random = new Random(seed);
    this.history = emptyHistory(seed, HEARTBEAT_MS);
    this.#opaque = bug === 'opaque id resolves to an older place' || this.#random.chance(0.3);
    this.#log = new ModelLog();
    this.#replicas = ['a', 'b', 'c'].map((name) => ({
      name,
      at: new Map([[SUPERVISOR, 0]]),
      left: new Map(),
      listening: true,
      live: new Set(),
    }));
  }

  run(steps: number): History {
    for (let i = 0; i < 3; i++) this.#create(`city-${i}`);
    this.#finishAll();
    this.#subscribe();
    for (let i = 0; i < steps; i++) {
      this.#now += this.#random.int(2, 60);
      this.#step();
      this.#beat();
    }
    this.#heal();
    return this.history;
  }

  #is(bug: Bug, probability = 0.3): boolean {
    return this.bug === bug && this.#random.chance(probability);
  }

  #step(): void {
    const { next } = { next: this.#random.next() };
    if (next < 0.4) this.#emit();
    else if (next < 0.75) this.#read(this.#random.pick(this.#replicas));
    else if (next < 0.8) this.#lifecycle();
    else if (next < 0.85) this.#finish();
    else if (next < 0.95) this.#reconnect();
    else if (next < 0.97) this.#crash();
    else this.#refuse();
  }

  // ---- writes

  #emit(): void {
    const names = [...this.#running].sort();
    if (names.length === 0) return;
    const city = this.#random.pick(names);
    const marker = `m${++this.#serial}`;
    const key = this.#random.chance(0.3) ? `k${this.#serial}` : undefined;
    const replica = this.#random.pick(this.#replicas).name;
    const common = { marker, kind: 'emit' as const, city, replica, from: this.#now, ...(key === undefined ? {} : { key }) };
    this.#now += this.#random.int(1, 9);
    const to = this.#now;
    if (this.#random.chance(0.05)) {
      if (this.#is('refused, but committed', 0.8)) this.#append(city, 'custom.one', { message: marker });
      else if (this.#is('publish before commit', 0.8)) this.#publishUncommitted(city, marker);
      return void this.history.writes.push({ ...common, to, outcome: 'refused', status: 503, body: '{}', problem: true });
    }
    if (this.#is('acknowledged before commit', 0.1)) {
      const seq = this.#log.stream(city).rows.length + 1;
      return void this.history.writes.push({ ...common, to, outcome: 'acknowledged', status: 201, body: `{"seq":${seq}}`, seq });
    }
    const type = this.#random.pick(['custom.one', 'custom.two']);
    const row = this.#append(city, type, { message: marker });
    if (this.#is('identity-ordered read', 0.2)) this.#hidden.add(row);
    const seq = this.#is('a sequence a replica', 0.3) ? Math.max(1, row.seq - 1) : row.seq;
    const answer = { outcome: 'acknowledged' as const, status: 201, body: `{"status":"recorded","seq":${seq}}`, seq };
    if (this.#random.chance(0.1)) this.history.writes.push({ ...common, to, outcome: 'unknown' });
    else this.history.writes.push({ ...common, to, ...answer });
    if (key !== undefined && this.#random.chance(0.7)) this.#repeat({ ...common, to, ...answer }, type);
  }

  #repeat(write: Write, type: string): void {
    let { seq, body } = write;
    if (this.#is('two effects under one key')) this.#append(write.city, type, { message: write.marker });
    if (this.#is('different answers under one key')) {
      seq = this.#append(write.city, type, { message: `${write.marker}-again` }).seq;
      body = `{"status":"recorded","seq":${seq}}`;
    }
    const replica = this.#random.pick(this.#replicas).name;
    const first = this.history.writes.at(-1)!;
    // The same answer as the first, whether or not that one arrived.
    this.history.writes.push({
      ...write,
      replica,
      from: first.to + 1,
      to: first.to + 5,
      ...(seq === undefined ? {} : { seq }),
      ...(body === undefined ? {} : { body }),
    });
    this.#now = first.to + 5;
  }

  #append(stream: string, type: string, members: { message?: string; subject?: string; payload?: object } = {}): LogRow {
    return this.#log.append(stream, type, members);
  }

  // ---- operations

  #create(name: string): void {
    const kind = this.#log.has(name) ? 'city.register' : 'city.create';
    const from = this.#now;
    if (this.bug === 'counter reset on re-create' && this.#log.has(name)) this.#log.reset(name);
    this.#log.join(name);
    if (!this.#is('city without an event')) this.#append(name, 'city.created', { subject: name, payload: { name } });
    if (this.#is('event without a city')) this.#log.cities.delete(name);
    this.#accept(kind, name, from);
  }

  #lifecycle(): void {
    const idle = this.#log.names.filter((n) => !this.#pending.some((p) => p.city === n));
    const registered = idle.filter((n) => this.#log.cities.has(n));
    const action = this.#random.int(0, 4);
    const city = registered.length === 0 ? undefined : this.#random.pick(registered);
    if (action === 0) this.#create(`city-${this.#log.names.length}`);
    else if (action === 1) {
      const gone = idle.filter((n) => !this.#log.cities.has(n));
      if (gone.length > 0) this.#create(this.#random.pick(gone));
    } else if (city === undefined) return;
    else if (action === 2) this.#accept(this.#running.has(city) ? 'city.stop' : 'city.start', city, this.#now);
    else if (registered.length > 2 && !this.#opaque) {
      // With stored cursors the feed only grows here: what a stale one says of a stream that left is not modelled.
      const from = this.#now;
      this.#append(city, 'city.unregister_requested', { subject: city, payload: { name: city } });
      this.#log.leave(city);
      this.#running.delete(city);
      this.#accept('city.unregister', city, from);
    }
  }

  #accept(kind: OperationKind, city: string, from: number): void {
    const id = `req-${++this.#serial}`;
    this.#now += 3;
    const common = { marker: id, kind, city, replica: 'a', from, to: this.#now };
    if (this.#is('refused operation carried out'))
      this.history.writes.push({ ...common, outcome: 'refused', status: 409, body: '{}', problem: true });
    else if (this.#random.chance(0.1)) this.history.writes.push({ ...common, outcome: 'unknown' });
    else this.history.writes.push({ ...common, outcome: 'acknowledged', status: 202, body: `{"request_id":"${id}"}`, requestId: id });
    if (this.#is('operation dropped after 202')) return;
    this.#operations.set(id, { kind, target: city, state: 'accepted' });
    this.#pending.push({ id, kind, city });
  }

  #finish(): void {
    const at = this.#pending.length === 0 ? -1 : this.#random.int(0, this.#pending.length - 1);
    const operation = this.#pending.splice(Math.max(at, 0), 1)[0];
    if (operation === undefined || this.#is('operation never ends')) return;
    const { id, kind, city } = operation;
    const succeeded = this.#random.chance(0.8) || kind === 'city.unregister';
    this.#operations.get(id)!.state = succeeded ? 'succeeded' : 'failed';
    if (this.#is('terminal event outside the transaction')) return;
    if (succeeded && kind === 'city.stop') this.#append(city, 'controller.stopped');
    if (succeeded && kind === 'city.stop') this.#running.delete(city);
    if (succeeded && ['city.create', 'city.register', 'city.start'].includes(kind) && this.#log.cities.has(city)) {
      this.#append(city, 'controller.started');
      this.#running.add(city);
    }
    const tell = (ok: boolean): LogRow =>
      this.#append(SUPERVISOR, ok ? `request.result.${kind}` : 'request.failed', { subject: city, payload: { request_id: id } });
    tell(succeeded);
    if (this.#is('two terminal events')) tell(succeeded);
    if (this.#is('stale worker ends an operation')) tell(!succeeded);
  }

  #finishAll(): void {
    while (this.#pending.length > 0) this.#finish();
  }

  // ---- reading and delivering

  /** The replica reads what is new and gives it to its subscribers. */
  #read(replica: Replica): void {
    if (this.bug === 'no re-read after LISTEN reconnect' && this.#random.chance(0.05)) {
      replica.listening = !replica.listening;
      if (replica.listening) for (const s of this.#log.streams()) if (replica.at.has(s.name)) replica.at.set(s.name, s.rows.length);
    }
    if (!replica.listening) return;
    if (this.#is('lost NOTIFY without a poll', 0.05)) return;
    // Whoever publishes an event of the supervisor must know every city that joined before it: ids promise that.
    if (this.bug !== 'id blind to a new city') for (const stream of this.#log.streams()) this.#join(replica, stream);
    for (const stream of this.#log.streams()) this.#readStream(replica, stream);
    for (const [name, seq] of replica.at) {
      if (this.#log.active(name)) continue;
      replica.at.delete(name);
      replica.left.set(name, seq);
    }
  }

  /** A stream that has joined is read from where it was left, also when it has left again meanwhile. */
  #join(replica: Replica, { name, rows, active }: ModelStream): void {
    if (replica.at.has(name)) return;
    const from = replica.left.get(name) ?? 0;
    if (active || from < rows.length) replica.at.set(name, from + (this.#is('first event of a new city dropped', 0.7) ? 1 : 0));
  }

  #readStream(replica: Replica, stream: ModelStream): void {
    const { name, rows } = stream;
    this.#join(replica, stream);
    if (!replica.at.has(name)) return;
    for (let seq = replica.at.get(name)! + 1; seq <= rows.length; seq++) {
      const row = rows[seq - 1]!;
      if (this.#hidden.delete(row)) continue;
      replica.at.set(name, seq);
      for (const live of [...replica.live]) this.#deliver(replica, live, row);
    }
  }

  #deliver(replica: Replica, live: Live, row: LogRow): void {
    const { subscriber, at } = live;
    if (live.stuck || (subscriber.city !== undefined && subscriber.city !== row.stream)) return;
    if ((at.get(row.stream) ?? -1) >= row.seq) return;
    if (this.#is('stuck subscriber', 0.01)) live.stuck = true;
    if (this.#is('cursor moved before the write', 0.02)) {
      this.#advance(live, row);
      this.#heartbeat(replica, live);
      return this.#close(live, 'broken');
    }
    this.#advance(live, row);
    const leak = this.#is('filter leaks', 0.1) && subscriber.city === undefined;
    if (wants(subscriber, row) || leak) this.#event(replica, live, row);
    if (this.#is('double send at the seam of ring and log', 0.02) && wants(subscriber, row)) this.#event(replica, live, row);
    const ending = row.type === 'controller.stopped' || row.type === 'city.unregister_requested';
    if (ending && subscriber.city === row.stream) {
      this.#heartbeat(replica, live);
      this.#close(live, 'server');
    }
  }

  #advance(live: Live, row: LogRow): void {
    live.at.set(row.stream, row.seq);
  }

  #event(replica: Replica, live: Live, row: LogRow): void {
    const atCity = live.subscriber.city !== undefined;
    let data = wireText(row, atCity);
    if (this.#is('payload altered on the way', 0.05)) data = data.replace('"payload":', '"payload": ');
    let id = this.#id(replica, live);
    if (!atCity && !id.startsWith('~')) {
      if (this.#is('id of another stream left behind', 0.05))
        id = id.replace(/:(\d+)$/, (_, n: string) => `:${Math.max(0, Number(n) - 1)}`);
      if (this.#is('id leaves a stream out', 0.05)) id = id.split(',').slice(0, -1).join(',');
    }
    this.#frame(live, { at: this.#now, event: atCity ? 'event' : 'tagged_event', id, data });
  }

  #publishUncommitted(city: string, marker: string): void {
    const row = this.#log.preview(city, 'custom.one', { message: marker });
    for (const replica of this.#replicas) {
      for (const live of replica.live)
        if (live.at.get(city) === row.seq - 1 && wants(live.subscriber, row)) this.#event(replica, live, row);
    }
  }

  /** The client's own position, with every stream of the feed that the replica knows. */
  #id(replica: Replica, live: Live): string {
    const { subscriber, at } = live;
    if (subscriber.city !== undefined) return String(at.get(subscriber.city)!);
    const visible = (name: string): boolean => name === SUPERVISOR || (subscriber.cities?.includes(name) ?? true);
    // Streams that have left the feed are named while they still have something to say; stored cursors keep them all.
    const names = [...new Set([...replica.at.keys(), ...(this.#opaque ? at.keys() : live.replaying)])].filter(visible).sort();
    const seqs = new Map(names.map((name) => [name, at.get(name) ?? replica.at.get(name)!]));
    for (const [name, seq] of seqs) at.set(name, seq);
    if (!this.#opaque) return names.map((name) => `${name}:${seqs.get(name)}`).join(',');
    const { checkpoint, moved } = this.#log.checkpoint(replica.name, seqs, this.#random);
    return formatOpaque({ checkpoint, moved });
  }

  #heartbeat(replica: Replica, live: Live): void {
    let id = this.#id(replica, live);
    const last = (n: number): void => void (id = id.replace(/(\d+)$/, (_, d: string) => String(Math.max(0, Number(d) + n))));
    if (this.#is('heartbeat ahead of delivery', 0.2) && !this.#opaque) this.#claimAhead(live, last);
    if (this.#is('heartbeat goes back', 0.2) && !this.#opaque) last(-1);
    this.#frame(live, { at: this.#now, event: 'heartbeat', id, data: '{"timestamp":"2026-01-01T00:00:00Z"}' });
  }

  /** Ahead only counts as a lie when there is something to skip. */
  #claimAhead(live: Live, last: (n: number) => void): void {
    const name = live.subscriber.city ?? [...live.at.keys()].sort().at(-1)!;
    const next = this.#log.stream(name).rows[live.at.get(name) ?? 0];
    if (next !== undefined && wants(live.subscriber, next)) last(1);
  }

  #frame(live: Live, frame: Frame): void {
    live.connection.frames.push(frame);
  }

  #beat(): void {
    for (const replica of this.#replicas) {
      for (const live of replica.live) {
        const last = live.connection.frames.at(-1)?.at ?? live.connection.openedAt;
        if (this.#now - last < HEARTBEAT_MS) continue;
        if (this.bug === 'silent stream' && this.#now - last < HEARTBEAT_MS * 6) continue;
        this.#heartbeat(replica, live);
      }
    }
  }

  // ---- clients

  #subscribe(): void {
    const { subscribers } = this.history;
    for (let i = 0; i < 4; i++) subscribers.push({ name: `sup-${i}`, mustCatchUp: true });
    subscribers.push({ name: 'sup-typed', types: ['custom.one'], mustCatchUp: true });
    subscribers.push({ name: 'sup-some', cities: ['city-0', 'city-1'], mustCatchUp: true });
    for (let i = 0; i < 3; i++) subscribers.push({ name: `one-${i}`, city: `city-${i}`, mustCatchUp: true });
    subscribers.push({ name: 'one-typed', city: 'city-0', types: ['custom.two'], mustCatchUp: true });
    for (const subscriber of subscribers) this.#open(subscriber);
  }

  #open(subscriber: Subscriber): void {
    const replica = this.#random.pick(this.#replicas);
    const at = this.#now;
    if (subscriber.city !== undefined && !this.#running.has(subscriber.city))
      return this.#refused(subscriber, replica.name, 404, 'not_found');
    if (this.#is('200, then closed', 0.1)) {
      const number = this.history.connections.length;
      this.history.connections.push({
        number,
        subscriber: subscriber.name,
        replica: replica.name,
        resume: { how: 'head' },
        sentAt: at,
        openedAt: at + 1,
        closedAt: at + 2,
        closedBy: 'server',
        frames: [],
      });
      return;
    }
    this.#read(replica);
    const position = this.#position(subscriber);
    const resume =
      position === undefined
        ? ({ how: 'head' } as const)
        : { how: this.#random.pick(['last-event-id', subscriber.city === undefined ? 'after_cursor' : 'after_seq'] as const), position };
    const connection: Connection = {
      number: this.history.connections.length,
      subscriber: subscriber.name,
      replica: replica.name,
      resume,
      sentAt: at,
      openedAt: (this.#now += 2),
      frames: [],
    };
    const live: Live = { connection, subscriber, at: new Map(), stuck: false, replaying: new Set() };
    this.history.connections.push(connection);
    this.#begin(replica, live, position);
    replica.live.add(live);
    this.#heartbeat(replica, live);
  }

  /** From a delivered id, mostly the last; from the head when there is none. */
  #position(subscriber: Subscriber): string | undefined {
    const ids = this.history.connections
      .filter((c) => c.subscriber === subscriber.name)
      .flatMap((c) => c.frames.flatMap((f) => f.id ?? []));
    return this.#random.chance(0.8) ? ids.at(-1) : ids.length === 0 ? undefined : this.#random.pick(ids);
  }

  #begin(replica: Replica, live: Live, position: string | undefined): void {
    const { subscriber, at } = live;
    const vector = position === undefined ? undefined : this.#log.parse(position, subscriber.city);
    if (vector !== undefined && this.#opaque && this.#is('opaque id resolves to an older place', 0.5)) {
      for (const [name, seq] of vector) vector.set(name, Math.max(0, seq - 1));
    }
    const names = subscriber.city === undefined ? [...replica.at.keys()] : [subscriber.city];
    for (const name of names) {
      const { joinedSeq, joinedSupervisorSeq } = this.#log.stream(name);
      const isNew = vector !== undefined && !vector.has(name) && joinedSupervisorSeq >= (vector.get(SUPERVISOR) ?? Infinity);
      const head = this.#is('head start replays', 0.5) ? 0 : replica.at.get(name)!;
      at.set(name, vector?.get(name) ?? (isNew ? joinedSeq : head));
    }
    for (const [name, seq] of vector ?? []) if (subscriber.city === undefined && !at.has(name)) at.set(name, seq);
    if (this.#is('>= for > on resume', 0.2)) for (const [name, seq] of at) at.set(name, Math.max(0, seq - 1));
    const due = [...at].flatMap(([name, seq]) => this.#log.stream(name).rows.slice(seq, replica.at.get(name) ?? Infinity));
    if (due.length > 1 && this.#is('hole at the seam of ring and log', 0.3)) due.pop();
    if (due.length > 1 && this.#is('order lost across a reconnect', 0.3)) due.reverse();
    for (const [i, row] of due.entries()) {
      live.replaying = new Set(due.slice(i).map((r) => r.stream));
      if ((at.get(row.stream) ?? -1) < row.seq || this.bug === 'order lost across a reconnect') at.set(row.stream, row.seq);
      if (wants(subscriber, row)) this.#event(replica, live, row);
    }
    live.replaying = new Set();
  }

  #reconnect(): void {
    const live = this.#random.pick(this.#replicas).live;
    const [one] = live;
    if (one !== undefined) this.#close(one, 'client');
    this.#openClosed();
  }

  /** A replica dies; what it knew is gone. */
  #crash(): void {
    const replica = this.#random.pick(this.#replicas);
    for (const live of [...replica.live]) this.#close(live, 'broken');
    replica.at.clear();
    replica.left.clear();
    for (const s of this.#log.streams()) (s.active ? replica.at : replica.left).set(s.name, s.rows.length);
    this.#openClosed();
  }

  #openClosed(): void {
    const open = new Set(this.#replicas.flatMap((r) => [...r.live].map((l) => l.subscriber.name)));
    for (const subscriber of this.history.subscribers) if (!open.has(subscriber.name)) this.#open(subscriber);
  }

  #close(live: Live, by: 'server' | 'client' | 'broken'): void {
    live.connection.closedAt = this.#now;
    live.connection.closedBy = by;
    for (const replica of this.#replicas) replica.live.delete(live);
  }

  #refuse(): void {
    this.#refused(this.history.subscribers[0]!, 'a', 400, 'invalid_cursor');
  }

  #refused(subscriber: Subscriber, replica: string, status: number, code: string): void {
    const html = this.#is('refused with a page of HTML');
    const body = JSON.stringify({ type: `urn:supervisor:error:${code}`, title: 'x', status, detail: `${code}: x`, code });
    this.history.refusals.push({
      subscriber: subscriber.name,
      replica,
      at: this.#now,
      status,
      contentType: html ? 'text/html' : 'application/problem+json; charset=utf-8',
      body: html ? '<html></html>' : body,
    });
  }

  #heal(): void {
    this.#finishAll();
    for (const subscriber of this.history.subscribers) {
      if (subscriber.city !== undefined && !this.#running.has(subscriber.city)) subscriber.mustCatchUp = false;
    }
    this.#openClosed();
    for (const replica of this.#replicas) {
      if (this.bug !== 'lost NOTIFY without a poll' || this.#random.chance(0.5)) this.#read(replica);
    }
    this.#log.dump(this.history.final, this.#running, this.#operations);
  }
}
