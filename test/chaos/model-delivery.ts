import { formatOpaque } from '../../src/platform/streams/cursor.js';
import { PositionSeal } from '../../src/platform/streams/position-seal.js';
import { SUPERVISOR, type Frame, type LogRow } from './history.js';
import { wants, wireText } from './log-index.js';
import type { ModelStream } from './model-log.js';
import { HEARTBEAT_MS, type Live, type Replica, type World } from './model-world.js';

const SEAL = new PositionSeal(Buffer.alloc(32));

/** The replicas of the model: they read the log at their own pace and give it to their clients. */
export class Delivery {
  constructor(private readonly world: World) {}

  /** The replica reads what is new and gives it to its subscribers. */
  read(replica: Replica): void {
    if (this.world.bug === 'no re-read after LISTEN reconnect' && this.world.random.chance(0.05)) {
      replica.listening = !replica.listening;
      if (replica.listening) for (const s of this.world.log.streams()) if (replica.at.has(s.name)) replica.at.set(s.name, s.rows.length);
    }
    if (!replica.listening) return;
    if (this.world.is('lost NOTIFY without a poll', 0.05)) return;
    // Whoever publishes an event of the supervisor must know every city that joined before it: ids promise that.
    if (this.world.bug !== 'id blind to a new city') for (const stream of this.world.log.streams()) this.#join(replica, stream);
    for (const stream of this.world.log.streams()) this.#readStream(replica, stream);
    for (const [name, seq] of replica.at) {
      if (this.world.log.active(name)) continue;
      replica.at.delete(name);
      replica.left.set(name, seq);
    }
  }

  /** A stream that has joined is read from where it was left, also when it has left again meanwhile. */
  #join(replica: Replica, { name, rows, active }: ModelStream): void {
    if (replica.at.has(name)) return;
    const from = replica.left.get(name) ?? 0;
    if (active || from < rows.length) replica.at.set(name, from + (this.world.is('first event of a new city dropped', 0.7) ? 1 : 0));
  }

  #readStream(replica: Replica, stream: ModelStream): void {
    const { name, rows } = stream;
    this.#join(replica, stream);
    if (!replica.at.has(name)) return;
    for (let seq = replica.at.get(name)! + 1; seq <= rows.length; seq++) {
      const row = rows[seq - 1]!;
      if (this.world.hidden.delete(row)) continue;
      replica.at.set(name, seq);
      for (const live of [...replica.live]) this.#deliver(replica, live, row);
    }
  }

  #deliver(replica: Replica, live: Live, row: LogRow): void {
    const { subscriber, at } = live;
    if (live.stuck || (subscriber.city !== undefined && subscriber.city !== row.stream)) return;
    if ((at.get(row.stream) ?? -1) >= row.seq) return;
    if (this.world.is('stuck subscriber', 0.01)) live.stuck = true;
    if (this.world.is('cursor moved before the write', 0.02)) {
      this.#advance(live, row);
      this.heartbeat(replica, live);
      return this.close(live, 'broken');
    }
    this.#advance(live, row);
    const leak = this.world.is('filter leaks', 0.1) && subscriber.city === undefined;
    if (wants(subscriber, row) || leak) this.event(replica, live, row);
    if (this.world.is('double send at the seam of ring and log', 0.02) && wants(subscriber, row)) this.event(replica, live, row);
    const ending = row.type === 'controller.stopped' || row.type === 'city.unregister_requested';
    if (ending && subscriber.city === row.stream) {
      this.heartbeat(replica, live);
      this.close(live, 'server');
    }
  }

  #advance(live: Live, row: LogRow): void {
    live.at.set(row.stream, row.seq);
  }

  event(replica: Replica, live: Live, row: LogRow): void {
    const atCity = live.subscriber.city !== undefined;
    let data = wireText(row, atCity);
    if (this.world.is('payload altered on the way', 0.05)) data = data.replace('"payload":', '"payload": ');
    let id = this.#id(replica, live);
    if (!atCity && !id.startsWith('~')) {
      if (this.world.is('id of another stream left behind', 0.05))
        id = id.replace(/:(\d+)$/, (_, n: string) => `:${Math.max(0, Number(n) - 1)}`);
      if (this.world.is('id leaves a stream out', 0.05)) id = id.split(',').slice(0, -1).join(',');
    }
    this.#frame(live, { at: this.world.now, event: atCity ? 'event' : 'tagged_event', id, data });
  }

  publishUncommitted(city: string, marker: string): void {
    const row = this.world.log.preview(city, 'custom.one', { message: marker });
    for (const replica of this.world.replicas) {
      for (const live of replica.live) if (live.at.get(city) === row.seq - 1 && wants(live.subscriber, row)) this.event(replica, live, row);
    }
  }

  /** The client's own position, with every stream of the feed that the replica knows. */
  #id(replica: Replica, live: Live): string {
    const { subscriber, at } = live;
    if (subscriber.city !== undefined) return String(at.get(subscriber.city)!);
    const visible = (name: string): boolean => name === SUPERVISOR || (subscriber.cities?.includes(name) ?? true);
    // Streams that have left the feed are named while they still have something to say; stored cursors keep them all.
    const names = [...new Set([...replica.at.keys(), ...(this.world.opaque ? at.keys() : live.replaying)])].filter(visible).sort();
    const seqs = new Map(names.map((name) => [name, at.get(name) ?? replica.at.get(name)!]));
    for (const [name, seq] of seqs) at.set(name, seq);
    if (!this.world.opaque) return names.map((name) => `${name}:${seqs.get(name)}`).join(',');
    const { checkpoint, moved } = this.world.log.checkpoint(replica.name, seqs, this.world.random);
    return formatOpaque({ checkpoint, moved }, SEAL);
  }

  heartbeat(replica: Replica, live: Live): void {
    let id = this.#id(replica, live);
    const last = (n: number): void => void (id = id.replace(/(\d+)$/, (_, d: string) => String(Math.max(0, Number(d) + n))));
    if (this.world.is('heartbeat ahead of delivery', 0.2) && !this.world.opaque) this.#claimAhead(live, last);
    if (this.world.is('heartbeat goes back', 0.2) && !this.world.opaque) last(-1);
    this.#frame(live, { at: this.world.now, event: 'heartbeat', id, data: '{"timestamp":"2026-01-01T00:00:00Z"}' });
  }

  /** Ahead only counts as a lie when there is something to skip. */
  #claimAhead(live: Live, last: (n: number) => void): void {
    const name = live.subscriber.city ?? [...live.at.keys()].sort().at(-1)!;
    const next = this.world.log.stream(name).rows[live.at.get(name) ?? 0];
    if (next !== undefined && wants(live.subscriber, next)) last(1);
  }

  #frame(live: Live, frame: Frame): void {
    live.connection.frames.push(frame);
  }

  beat(): void {
    for (const replica of this.world.replicas) {
      for (const live of replica.live) {
        const last = live.connection.frames.at(-1)?.at ?? live.connection.openedAt;
        if (this.world.now - last < HEARTBEAT_MS) continue;
        if (this.world.bug === 'silent stream' && this.world.now - last < HEARTBEAT_MS * 6) continue;
        this.heartbeat(replica, live);
      }
    }
  }

  close(live: Live, by: 'server' | 'client' | 'broken'): void {
    live.connection.closedAt = this.world.now;
    live.connection.closedBy = by;
    for (const replica of this.world.replicas) replica.live.delete(live);
  }
}
