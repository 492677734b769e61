import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Channel, type ChannelSource, type Frame, type RingLimit } from '../../../platform/streams/channel.js';
import { Drain } from '../../../platform/streams/drain.js';
import { abandoned, type Lingering } from '../../../platform/streams/lingering.js';
import { HintListener } from '../../../platform/streams/listener.js';
import { Signals, type Signalled } from '../../../platform/streams/signals.js';
import { frameText, keptBytes } from '../../../platform/streams/sse.js';
import type { Subscriber } from '../../../platform/streams/subscriber.js';
import { sleep } from '../../../platform/time/clock.js';
import { inStep, onTicks } from '../../../platform/time/ticks.js';
import { KEPT_LINES, ServiceLinesRepository, type LineRow, type NewLines } from './service-lines.repository.js';
import { serviceOfTopic } from './service-logs.js';
import { toLine } from './services.mapper.js';

/** Services that are read together, and lines of each. */
const FETCHED = 32;
const LINES = 200;
/** For the moment between two writes: what it does not hold is read again. */
const RING: RingLimit = { frames: 512, bytes: 256 * 1024 };

const frameOf = (pk: number, line: LineRow, after: number): Frame => {
  const text = frameText(String(line.seq), 'line', JSON.stringify(toLine(line)));
  return { bytes: keptBytes(text), bodyAt: text.indexOf('\n') + 1, streamId: pk, seq: line.seq, after };
};

/** Who follows one service. */
export class LogFeed implements ChannelSource, Lingering {
  readonly channel: Channel;
  idleSince: number | undefined;

  constructor(
    readonly pk: number,
    /** All up to here has been published, or is for each subscriber to read. */
    public position: number,
    private readonly lines: ServiceLinesRepository,
    sent: ConstructorParameters<typeof Channel>[1],
  ) {
    this.channel = new Channel(this, sent, RING);
  }

  currentId(): string {
    return String(this.position);
  }

  publish({ head, rows }: NewLines): void {
    for (const row of rows) {
      if (row.seq <= this.position) continue;
      this.channel.publish(frameOf(this.pk, row, this.position));
      this.position = row.seq;
    }
    // What has been dropped before anybody could read it.
    if (rows.length === 0) this.position = Math.max(this.position, head);
  }

  async replay(subscriber: Subscriber): Promise<Buffer | undefined> {
    const lag = subscriber.lag?.get(this.pk);
    if (lag === undefined) {
      subscriber.lag = undefined;
      return undefined;
    }
    // The ring may hand over more while it is read.
    const { upto } = lag;
    const [found] = await this.lines.after([{ pk: this.pk, pos: lag.pos }], LINES);
    const rows = (found?.rows ?? []).filter(({ seq }) => seq <= upto);
    if (subscriber.lag?.get(this.pk) !== lag) return undefined;
    let after = lag.pos;
    const frames = rows.map((row) => {
      const frame = frameOf(this.pk, row, after);
      after = row.seq;
      return frame.bytes;
    });
    lag.pos = rows.length === 0 ? upto : after;
    if (lag.pos >= lag.upto) subscriber.lag = undefined;
    return frames.length === 0 ? undefined : Buffer.concat(frames);
  }
}

/** The process's one reader of what services write: one query for all that somebody follows and that has moved. */
@Injectable()
export class ServiceLogHub implements OnModuleInit {
  readonly #feeds = new Map<number, LogFeed>();
  /** Of services that are gone: what they have is written, then their streams end. */
  readonly #finishing = new Set<LogFeed>();
  readonly #dirty = new Set<number>();
  readonly #stop = new AbortController();
  readonly #sent;
  readonly #drain = new Drain(
    () => this.#dirty.size > 0,
    () => this.#round(),
    (error) => this.log.debug({ err: error }, 'what services have written could not be read; trying again'),
    this.#stop.signal,
  );

  constructor(
    private readonly config: AppConfig,
    private readonly lines: ServiceLinesRepository,
    private readonly signals: Signals,
    private readonly listener: HintListener,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
    metrics: Metrics,
  ) {
    this.#sent = metrics.counter({ name: 'svc_service_log_frames_sent_total', help: 'Lines of services handed to stream sockets' });
  }

  onModuleInit(): void {
    const forget = this.signals.onTopics((topics) => this.#signalled(topics));
    const endTicks = onTicks(() => this.#tick());
    const polling = this.#poll();
    this.lifecycle.onStop('streams', 'streams of services', async () => {
      forget();
      endTicks();
      this.#stop.abort();
      for (const { channel } of [...this.#feeds.values(), ...this.#finishing]) channel.shutdown(new Date());
      await Promise.all([this.#drain.settled(), polling]);
    });
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** @throws ProblemError unavailable when this process takes no streams (any more). */
  assertOpen(): void {
    if (this.stopped) throw problem('unavailable', 'this replica is stopping, connect again');
  }

  /** Resolves once all up to a head has been published. @throws ProblemError unavailable when that takes too long */
  async caughtUp(pk: number, head: number): Promise<void> {
    const feed = this.#feed(pk, head);
    const reached = (): boolean => feed.position >= head || this.#feeds.get(pk) !== feed || this.stopped;
    if (await this.#drain.until(reached, () => this.#dirty.add(pk))) return;
    throw problem('unavailable', 'what the service has written cannot be read at the moment, try again');
  }

  /**
   * Gives a subscriber all after a position, now and from now on.
   *
   * @param head as it was read last; the feed has caught up with it
   */
  attach(subscriber: Subscriber, pk: number, after: number, head: number): LogFeed {
    const feed = this.#feed(pk, head);
    subscriber.next = feed.channel.end;
    // What is not kept any more cannot be told.
    const from = Math.max(after, feed.position - KEPT_LINES);
    if (from < feed.position) subscriber.lag = new Map([[pk, { pos: from, upto: feed.position }]]);
    feed.channel.attach(subscriber);
    this.#dirty.add(pk);
    void this.#drain.run();
    return feed;
  }

  #feed(pk: number, head: number): LogFeed {
    let feed = this.#feeds.get(pk);
    if (feed === undefined) this.#feeds.set(pk, (feed = new LogFeed(pk, head, this.lines, this.#sent)));
    feed.idleSince = undefined;
    return feed;
  }

  #signalled(topics: Signalled): void {
    if (this.#feeds.size === 0) return;
    const moved = topics === 'all' ? [...this.#feeds.keys()] : [...topics].flatMap((topic) => serviceOfTopic(topic) ?? []);
    for (const pk of moved) if (this.#feeds.has(pk)) this.#dirty.add(pk);
    if (this.#dirty.size > 0) void this.#drain.run();
  }

  async #poll(): Promise<void> {
    while (!this.stopped) {
      await sleep(inStep(this.listener.pollMs), this.#stop.signal);
      this.#signalled('all');
    }
  }

  async #round(): Promise<void> {
    const feeds = [...this.#dirty].slice(0, FETCHED).flatMap((pk) => {
      this.#dirty.delete(pk);
      return this.#feeds.get(pk) ?? [];
    });
    if (feeds.length === 0) return;
    try {
      const found = await this.lines.after(
        feeds.map(({ pk, position }) => ({ pk, pos: position })),
        LINES,
      );
      for (const lines of found) {
        this.#feeds.get(lines.pk)?.publish(lines);
        if (lines.rows.length === LINES) this.#dirty.add(lines.pk);
      }
      const there = new Set(found.map(({ pk }) => pk));
      for (const { pk } of feeds) if (!there.has(pk)) this.#end(pk);
    } catch (error) {
      for (const { pk } of feeds) this.#dirty.add(pk);
      throw error;
    }
  }

  /** Nobody writes there any more: whoever follows it is told so when it asks again. */
  #end(pk: number): void {
    const feed = this.#feeds.get(pk);
    if (feed === undefined) return;
    feed.channel.endAll();
    this.#finishing.add(feed);
    this.#feeds.delete(pk);
  }

  #tick(): void {
    const now = Date.now();
    for (const [pk, feed] of this.#feeds) {
      feed.channel.tick(now, this.config.heartbeatMs);
      if (abandoned(feed, now)) this.#feeds.delete(pk);
    }
    for (const feed of this.#finishing) {
      feed.channel.tick(now, this.config.heartbeatMs);
      if (feed.channel.size === 0) this.#finishing.delete(feed);
    }
  }
}
