import type { Bug } from './bugs.js';
import { SUPERVISOR, type Connection, type History, type Subscriber } from './history.js';
import { wants } from './log-index.js';
import { Delivery } from './model-delivery.js';
import { ModelConfig } from './model-config.js';
import { Random } from './random.js';
import { World, type Live, type Replica } from './model-world.js';
import { ModelWork } from './model-work.js';
import { Writer } from './model-writer.js';

/**
 * A supervisor in small: a log, three replicas that read it at their own pace, clients that come back anywhere, and
 * operations that end. Without a bug its history is right; with one it makes that mistake now and then.
 */
export class Model {
  readonly history: History;
  readonly #world: World;
  readonly #delivery: Delivery;
  readonly #writer: Writer;
  readonly #work: ModelWork;
  readonly #config: ModelConfig;

  constructor(seed: number, bug?: Bug) {
    this.#world = new World(seed, bug);
    this.history = this.#world.history;
    this.#delivery = new Delivery(this.#world);
    this.#writer = new Writer(this.#world, this.#delivery);
    this.#work = new ModelWork(this.#world);
    this.#config = new ModelConfig(this.#world, new Random(seed + 1));
  }

  run(steps: number): History {
    for (let i = 0; i < 3; i++) this.#writer.create(`city-${i}`);
    this.#writer.finishAll();
    this.#subscribe();
    for (let i = 0; i < steps; i++) {
      this.#world.now += this.#world.random.int(2, 60);
      this.#step();
      if (this.#world.random.chance(0.7)) this.#work.step();
      this.#config.step();
      this.#delivery.beat();
    }
    this.#heal();
    return this.history;
  }

  #step(): void {
    const next = this.#world.random.next();
    if (next < 0.4) this.#writer.emit();
    else if (next < 0.75) this.#delivery.read(this.#world.random.pick(this.#world.replicas));
    else if (next < 0.8) this.#writer.lifecycle();
    else if (next < 0.85) this.#writer.finish();
    else if (next < 0.95) this.#reconnect();
    else if (next < 0.97) this.#crash();
    else this.#refuse();
  }

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
    const replica = this.#world.random.pick(this.#world.replicas);
    const at = this.#world.now;
    if (subscriber.city !== undefined && !this.#world.running.has(subscriber.city))
      return this.#refused(subscriber, replica.name, 404, 'not_found');
    if (this.#world.is('200, then closed', 0.1)) {
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
    this.#delivery.read(replica);
    const position = this.#position(subscriber);
    const resume =
      position === undefined
        ? ({ how: 'head' } as const)
        : {
            how: this.#world.random.pick(['last-event-id', subscriber.city === undefined ? 'after_cursor' : 'after_seq'] as const),
            position,
          };
    const connection: Connection = {
      number: this.history.connections.length,
      subscriber: subscriber.name,
      replica: replica.name,
      resume,
      sentAt: at,
      openedAt: (this.#world.now += 2),
      frames: [],
    };
    const live: Live = { connection, subscriber, at: new Map(), stuck: false, replaying: new Set() };
    this.history.connections.push(connection);
    this.#begin(replica, live, position);
    replica.live.add(live);
    this.#delivery.heartbeat(replica, live);
  }

  /** From a delivered id, mostly the last; from the head when there is none. */
  #position(subscriber: Subscriber): string | undefined {
    const ids = this.history.connections
      .filter((c) => c.subscriber === subscriber.name)
      .flatMap((c) => c.frames.flatMap((f) => f.id ?? []));
    return this.#world.random.chance(0.8) ? ids.at(-1) : ids.length === 0 ? undefined : this.#world.random.pick(ids);
  }

  #begin(replica: Replica, live: Live, position: string | undefined): void {
    const { subscriber, at } = live;
    const vector = position === undefined ? undefined : this.#world.log.parse(position, subscriber.city);
    if (vector !== undefined && this.#world.opaque && this.#world.is('opaque id resolves to an older place', 0.5)) {
      for (const [name, seq] of vector) vector.set(name, Math.max(0, seq - 1));
    }
    const names = subscriber.city === undefined ? [...replica.at.keys()] : [subscriber.city];
    for (const name of names) {
      const { joinedSeq, joinedSupervisorSeq } = this.#world.log.stream(name);
      const isNew = vector !== undefined && !vector.has(name) && joinedSupervisorSeq >= (vector.get(SUPERVISOR) ?? Infinity);
      const head = this.#world.is('head start replays', 0.5) ? 0 : replica.at.get(name)!;
      at.set(name, vector?.get(name) ?? (isNew ? joinedSeq : head));
    }
    for (const [name, seq] of vector ?? []) if (subscriber.city === undefined && !at.has(name)) at.set(name, seq);
    if (this.#world.is('>= for > on resume', 0.2)) for (const [name, seq] of at) at.set(name, Math.max(0, seq - 1));
    const due = [...at].flatMap(([name, seq]) => this.#world.log.stream(name).rows.slice(seq, replica.at.get(name) ?? Infinity));
    if (due.length > 1 && this.#world.is('hole at the seam of ring and log', 0.3)) due.pop();
    if (due.length > 1 && this.#world.is('order lost across a reconnect', 0.3)) due.reverse();
    for (const [i, row] of due.entries()) {
      live.replaying = new Set(due.slice(i).map((r) => r.stream));
      if ((at.get(row.stream) ?? -1) < row.seq || this.#world.bug === 'order lost across a reconnect') at.set(row.stream, row.seq);
      if (wants(subscriber, row)) this.#delivery.event(replica, live, row);
    }
    live.replaying = new Set();
  }

  #reconnect(): void {
    const live = this.#world.random.pick(this.#world.replicas).live;
    const [one] = live;
    if (one !== undefined) this.#delivery.close(one, 'client');
    this.#openClosed();
  }

  /** A replica dies; what it knew is gone. */
  #crash(): void {
    const replica = this.#world.random.pick(this.#world.replicas);
    for (const live of [...replica.live]) this.#delivery.close(live, 'broken');
    replica.at.clear();
    replica.left.clear();
    for (const s of this.#world.log.streams()) (s.active ? replica.at : replica.left).set(s.name, s.rows.length);
    this.#openClosed();
  }

  #openClosed(): void {
    const open = new Set(this.#world.replicas.flatMap((r) => [...r.live].map((l) => l.subscriber.name)));
    for (const subscriber of this.history.subscribers) if (!open.has(subscriber.name)) this.#open(subscriber);
  }

  #refuse(): void {
    this.#refused(this.history.subscribers[0]!, 'a', 400, 'invalid_cursor');
  }

  #refused(subscriber: Subscriber, replica: string, status: number, code: string): void {
    const html = this.#world.is('refused with a page of HTML');
    const body = JSON.stringify({ type: `urn:supervisor:error:${code}`, title: 'x', status, detail: `${code}: x`, code });
    this.history.refusals.push({
      subscriber: subscriber.name,
      replica,
      at: this.#world.now,
      status,
      contentType: html ? 'text/html' : 'application/problem+json; charset=utf-8',
      body: html ? '<html></html>' : body,
    });
  }

  #heal(): void {
    this.#writer.finishAll();
    this.#work.final();
    this.#config.final();
    for (const subscriber of this.history.subscribers) {
      if (subscriber.city !== undefined && !this.#world.running.has(subscriber.city)) subscriber.mustCatchUp = false;
    }
    this.#openClosed();
    for (const replica of this.#world.replicas) {
      if (this.#world.bug !== 'lost NOTIFY without a poll' || this.#world.random.chance(0.5)) this.#delivery.read(replica);
    }
    // A replica that reads only now that a city has left closes its streams; the city may have come back since.
    this.#openClosed();
    this.#world.log.dump(this.history.final, this.#world.running, this.#writer.operations);
  }
}
