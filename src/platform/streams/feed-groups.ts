import type { Counter } from 'prom-client';
import { Channel, LOG_RING } from './channel.js';
import type { Checkpoints } from './checkpoints.js';
import { CitySource, encodeCityFrame } from './city-source.js';
import { FeedScope, type Feed } from './feed-scope.js';
import type { CityGroup, StreamState } from './feed-state.js';
import { abandoned, forgetAbandoned, type Lingering } from './lingering.js';
import { PageCache } from './page-cache.js';
import { ringShare } from './ring-share.js';
import type { StreamLogRepository, WireRow } from './stream-log.repository.js';
import { SupervisorSource } from './supervisor-source.js';

export interface SupervisorGroup extends Lingering {
  readonly source: SupervisorSource;
}

/** After one of these a city serves no streams any more; its open ones end cleanly. */
const ENDING = new Set(['controller.stopped', 'city.unregister_requested']);

/** The subscribers of this process in groups of equal rights and filters, of the feed and of single cities. */
export class FeedGroups {
  /** The groups of the feed. Those of a city are in its stream's state. */
  readonly #groups = new Map<string, SupervisorGroup>();
  /** Streams that have groups, so that a tick passes over all others. */
  readonly #served = new Set<StreamState>();
  /** Groups whose city has ended: only subscribers whose opening was under way still join them. */
  readonly #finishing = new Set<CityGroup>();
  #pages = new PageCache();
  readonly #ring = { ...LOG_RING };

  constructor(
    private readonly feed: Feed,
    private readonly repository: StreamLogRepository,
    private readonly checkpoints: Checkpoints,
    private readonly sent: Counter,
  ) {}

  /** Whether the feed has groups. */
  get hasFeed(): boolean {
    return this.#groups.size > 0;
  }

  /** Whether events of this stream have to be read for some group. */
  isHot(s: StreamState): boolean {
    return s.groups.size > 0 || this.#groups.size > 0;
  }

  get openStreams(): number {
    let open = 0;
    for (const channel of this.#channels()) open += channel.size;
    return open;
  }

  ofCity(stream: StreamState, types: readonly string[] | undefined): CityGroup {
    const key = JSON.stringify(types ?? null);
    let group = stream.groups.get(key);
    if (group === undefined) {
      const source = new CitySource(stream, types, this.repository, this.#pages);
      group = { source, channel: new Channel(source, this.sent, this.#ring), types, idleSince: undefined };
      stream.groups.set(key, group);
      this.#served.add(stream);
    }
    group.idleSince = undefined;
    return group;
  }

  ofFeed(cities: readonly string[] | undefined, types: readonly string[] | undefined): SupervisorGroup {
    const key = JSON.stringify([cities ?? null, types ?? null]);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const source = new SupervisorSource(this.feed, this.#scope(cities), types, this.repository, this.checkpoints);
      group = { source, channel: new Channel(source, this.sent, this.#ring), idleSince: undefined };
      source.channel = group.channel;
      this.#groups.set(key, group);
    }
    group.idleSince = undefined;
    return group;
  }

  /** The scope that groups of the same cities share, so that a frame is made once for all of them. */
  #scope(cities: readonly string[] | undefined): FeedScope {
    const key = JSON.stringify(cities ?? null); // JSON, since the names come from requests and may have any characters
    for (const { source } of this.#groups.values()) if (source.scope.key === key) return source.scope;
    return new FeedScope(key, cities, this.feed);
  }

  /** Publishes a row to all groups that want it. */
  publish(s: StreamState, row: WireRow): void {
    if (s.groups.size > 0) this.#publishToCity(s, row);
    for (const group of this.#groups.values()) {
      const frame = group.source.encode(row);
      if (frame !== undefined) group.channel.publish(frame);
    }
  }

  #publishToCity(s: StreamState, row: WireRow): void {
    const frame = encodeCityFrame(row);
    const ending = ENDING.has(row.type);
    for (const group of s.groups.values()) {
      if (group.types === undefined || group.types.includes(row.type)) group.channel.publish(frame);
      if (ending) this.#finish(group);
    }
    if (ending) s.groups.clear();
  }

  /** Finishes the groups of a stream that has left the feed, once its last events were published. */
  leave(s: StreamState): void {
    for (const group of s.groups.values()) this.#finish(group);
    this.#served.delete(s);
  }

  #finish(group: CityGroup): void {
    group.source.end();
    this.#finishing.add(group);
    group.channel.endAll();
  }

  /** Ends what is open. */
  shutdown(): void {
    for (const channel of this.#channels()) channel.shutdown(new Date());
  }

  /** Ends all open streams and drops their groups: clients that reconnect join new ones. */
  forget(): void {
    for (const channel of this.#channels()) {
      channel.shutdown(new Date());
      channel.retire();
    }
    for (const known of [this.#groups, this.#finishing, this.#served]) known.clear();
    this.#pages = new PageCache();
  }

  tick(heartbeatMs: number): void {
    const now = Date.now();
    let held = 0;
    let rings = 0;
    for (const channel of this.#fed()) {
      channel.tick(now, heartbeatMs);
      held += channel.bytes;
      rings++;
    }
    // Rings of finishing groups do not grow, so they take no share from the others.
    for (const { channel } of this.#finishing) channel.tick(now, heartbeatMs);
    this.#ring.bytes = ringShare(this.#ring.bytes, held, rings);
    for (const group of this.#finishing) if (abandoned(group, now)) this.#finishing.delete(group);
    forgetAbandoned(this.#groups, now);
    for (const s of this.#served) {
      forgetAbandoned(s.groups, now);
      if (s.groups.size === 0) this.#served.delete(s);
    }
  }

  *#fed(): Iterable<Channel> {
    for (const group of this.#groups.values()) yield group.channel;
    for (const s of this.#served) for (const group of s.groups.values()) yield group.channel;
  }

  *#channels(): Iterable<Channel> {
    yield* this.#fed();
    for (const { channel } of this.#finishing) yield channel;
  }
}
