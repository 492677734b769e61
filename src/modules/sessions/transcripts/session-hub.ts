import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { Channel } from '../../../platform/streams/channel.js';
import { Drain } from '../../../platform/streams/drain.js';
import { abandoned } from '../../../platform/streams/lingering.js';
import { HintListener } from '../../../platform/streams/listener.js';
import { Signals, type Signalled } from '../../../platform/streams/signals.js';
import { sleep } from '../../../platform/time/clock.js';
import { inStep, onTicks } from '../../../platform/time/ticks.js';
import { databaseWaits } from '../../../platform/turns/database-waits.js';
import { sessionOfTopic } from '../session-store/topics.js';
import { LiveReads, type Changes } from './live-reads.repository.js';
import { SessionFeed, type Follower } from './session-feed.js';
import type { View } from './session-frames.js';

const FETCH_SESSIONS = 64;
const SLICE_MS = 4;

/** A session that somebody here follows. `head` may be what a signal promises. */
class Followed {
  readonly followers = new Set<Follower>();
  readonly feeds = new Map<string, SessionFeed>();
  constructor(readonly pk: number) {}
}

/**
 * The process's one reader of the logs of sessions: one query for all followed sessions that moved, frames encoded once a
 * group of subscribers. Signals only wake it; each second it looks at the heads of all of them itself.
 */
@Injectable()
export class SessionHub implements OnModuleInit {
  readonly #sessions = new Map<number, Followed>();
  readonly #dirty = new Set<number>();
  /** Further channels that are ticked, such as those of agents. */
  readonly #channels = new Set<Channel>();
  readonly #finishing = new Set<Channel>();
  #stopped = false;
  readonly #stop = new AbortController();
  readonly #drain = new Drain(
    () => this.#dirty.size > 0,
    () => this.#round(),
    (error) => this.log.debug({ err: error }, 'logs of sessions could not be read; trying again'),
    this.#stop.signal,
  );
  readonly sent;

  constructor(
    private readonly config: AppConfig,
    readonly reads: LiveReads,
    private readonly signals: Signals,
    private readonly listener: HintListener,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
    metrics: Metrics,
  ) {
    this.sent = metrics.counter({ name: 'svc_session_stream_frames_sent_total', help: 'Frames of sessions handed to stream sockets' });
    const open = (): number => this.openStreams;
    metrics.gauge({
      name: 'svc_session_streams_open',
      help: 'Streams of sessions and of agent output open on this process',
      collect() {
        this.set(open());
      },
    });
  }

  onModuleInit(): void {
    const forget = this.signals.onTopics((names) => this.#signalled(names));
    const endTicks = onTicks(() => this.#tick());
    const polling = this.#poll();
    this.lifecycle.onStop('streams', 'session streams', async () => {
      forget();
      endTicks();
      this.#stopped = true;
      for (const channel of this.#all()) channel.shutdown(new Date());
      this.#stop.abort();
      await Promise.all([this.#drain.settled(), polling]);
    });
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  get openStreams(): number {
    let open = 0;
    for (const channel of this.#all()) open += channel.size;
    return open;
  }

  /** @throws ProblemError unavailable when this process takes no streams (any more). */
  assertOpen(): void {
    if (this.#stopped) throw problem('unavailable', 'this replica is stopping, connect again');
  }

  /**
   * The feed of a session in a view. A new one begins at `head`, which the caller has read: it is published from there on.
   */
  feed(pk: number, view: View, head: number): SessionFeed {
    const key = `${view.format}:${view.thinking}`;
    let feed = this.#sessions.get(pk)?.feeds.get(key);
    if (feed?.ended === true) {
      this.#drop(this.#session(pk), key, feed);
      feed = undefined;
    }
    if (feed === undefined) {
      feed = new SessionFeed(pk, view, head, this.reads, this.sent);
      this.#session(pk).feeds.set(key, feed);
      this.follow(pk, feed);
    }
    feed.idleSince = undefined;
    return feed;
  }

  /** Gives a follower everything above its position, now and from now on. */
  follow(pk: number, follower: Follower): void {
    this.#session(pk).followers.add(follower);
    this.#look(pk);
  }

  unfollow(pk: number, follower: Follower): void {
    const session = this.#sessions.get(pk);
    session?.followers.delete(follower);
    if (session?.followers.size === 0) this.#sessions.delete(pk);
  }

  /** Ticks a channel and ends its streams at shutdown. Returns how to stop that, once it is empty. */
  keep(channel: Channel): () => void {
    this.#channels.add(channel);
    return () => this.#channels.delete(channel);
  }

  /** Resolves once a follower has published everything up to `head`. @throws ProblemError unavailable when that takes too long. */
  async caughtUp(pk: number, follower: Follower, head: number): Promise<void> {
    const reached = (): boolean => follower.position >= head || this.#stopped;
    if (await this.#drain.until(reached, () => this.#dirty.add(pk))) return;
    throw problem('unavailable', 'the transcript cannot be read at the moment, try again');
  }

  #session(pk: number): Followed {
    let session = this.#sessions.get(pk);
    if (session === undefined) this.#sessions.set(pk, (session = new Followed(pk)));
    return session;
  }

  *#all(): Iterable<Channel> {
    for (const session of this.#sessions.values()) for (const feed of session.feeds.values()) yield feed.channel;
    yield* this.#channels;
    yield* this.#finishing;
  }

  #signalled(names: Signalled): void {
    if (names === 'all') {
      for (const pk of this.#sessions.keys()) this.#dirty.add(pk);
    } else if (this.#sessions.size > 0) {
      for (const name of names) {
        const pk = sessionOfTopic(name);
        if (pk !== undefined && this.#sessions.has(pk)) this.#dirty.add(pk);
      }
    }
    if (this.#dirty.size > 0) void this.#drain.run();
  }

  #look(pk: number): void {
    this.#dirty.add(pk);
    void this.#drain.run();
  }

  async #poll(): Promise<void> {
    while (!this.#stopped) {
      await sleep(inStep(this.listener.pollMs), this.#stop.signal);
      if (this.#sessions.size === 0 || this.#stopped) continue;
      try {
        const heads = new Map((await this.reads.heads([...this.#sessions.keys()])).map(({ pk, head }) => [pk, head]));
        for (const session of this.#sessions.values()) {
          const head = heads.get(session.pk);
          if (head === undefined || positionOf(session) < head) this.#dirty.add(session.pk);
        }
      } catch (error) {
        this.log.debug({ err: error }, 'the heads of sessions could not be read');
      }
      if (this.#dirty.size > 0) void this.#drain.run();
    }
  }

  /** What is signalled while a round is read makes its session dirty again. */
  async #round(): Promise<void> {
    const sessions = [...this.#dirty].slice(0, FETCH_SESSIONS).flatMap((pk) => {
      this.#dirty.delete(pk);
      const session = this.#sessions.get(pk);
      return session === undefined ? [] : [{ session, pos: positionOf(session) }];
    });
    if (sessions.length === 0) return;
    let found: Map<number, Changes>;
    try {
      const wanted = sessions.map(({ session, pos }) => ({ pk: session.pk, pos, upto: Number.MAX_SAFE_INTEGER }));
      const withRaw = sessions.some(({ session }) => [...session.followers].some((follower) => follower.withRaw));
      const changes = await this.reads.changes(wanted, withRaw);
      found = new Map(changes.map((one) => [one.pk, one]));
      if (found.size < sessions.length) await this.#missing(sessions.map(({ session }) => session).filter(({ pk }) => !found.has(pk)));
    } catch (error) {
      for (const { session } of sessions) this.#dirty.add(session.pk);
      throw error;
    }
    let started = performance.now();
    for (const { session, pos } of sessions) {
      const changes = found.get(session.pk);
      if (changes === undefined) continue;
      const upto = changes.more ? changes.rows.at(-1)!.rev : changes.head;
      // Who began to follow while this was read, from further back, has its turn in the next round.
      for (const follower of [...session.followers]) {
        if (follower.position < pos) this.#dirty.add(session.pk);
        else if (follower.position < upto) follower.publish(changes, upto);
      }
      if (changes.more) this.#dirty.add(session.pk);
      if (performance.now() - started > SLICE_MS) {
        await databaseWaits.yieldTurn();
        started = performance.now();
      }
    }
  }

  /** Those that have not moved are still there; the others were deleted. */
  async #missing(sessions: readonly Followed[]): Promise<void> {
    const there = new Set((await this.reads.heads(sessions.map(({ pk }) => pk))).map(({ pk }) => pk));
    for (const session of sessions) {
      if (there.has(session.pk)) continue;
      for (const follower of [...session.followers]) follower.gone();
    }
  }

  #tick(): void {
    const now = Date.now();
    for (const channel of this.#all()) channel.tick(now, this.config.heartbeatMs);
    for (const channel of this.#finishing) if (channel.size === 0) this.#finishing.delete(channel);
    for (const session of [...this.#sessions.values()]) {
      for (const [key, feed] of session.feeds) {
        if (feed.ended || abandoned(feed, now)) this.#drop(session, key, feed);
      }
    }
  }

  /** One that was only replaced would be fed for ever, and nobody would look at its last readers any more. */
  #drop(session: Followed, key: string, feed: SessionFeed): void {
    session.feeds.delete(key);
    if (feed.channel.size > 0) this.#finishing.add(feed.channel);
    this.unfollow(session.pk, feed);
  }
}

function positionOf({ followers }: Followed): number {
  let position = Infinity;
  for (const follower of followers) position = Math.min(position, follower.position);
  return position === Infinity ? Number.MAX_SAFE_INTEGER : position;
}
