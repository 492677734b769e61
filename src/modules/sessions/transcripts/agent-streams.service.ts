import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { newestBefore } from '../../../platform/event-log/epochs.js';
import { ahead, LAST_EVENT_ID } from '../../../platform/streams/cursor.js';
import type { Principal } from '../../../contract/principal.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Drain } from '../../../platform/streams/drain.js';
import { EventStreams, openerOf } from '../../../platform/streams/event-streams.js';
import { abandoned } from '../../../platform/streams/lingering.js';
import { Signals } from '../../../platform/streams/signals.js';
import type { Lag, Subscriber } from '../../../platform/streams/subscriber.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { AgentFeed, agentId, parseAgentId, type AgentPosition } from './agent-feed.js';
import { AgentOutput } from './agent-output.service.js';
import { SESSION_STEP } from './entry-row.js';
import { LiveReads } from './live-reads.repository.js';
import { dataFrame } from './session-frames.js';
import { SessionHub } from './session-hub.js';
import { FIRST_ENTRIES, type StreamOpening } from './session-streams.service.js';
import { paginationOf, TranscriptsService } from './transcripts.service.js';
import { onTicks } from '../../../platform/time/ticks.js';

const LOOK_MS = 1_000;
/** Sessions of an agent that a resumed stream goes through. */
const MAX_SESSIONS = 1_000;

type Feed = AgentFeed & { forget?: () => unknown };

/** Streams of what agents say. When another session speaks for an agent, it goes on with that one. */
@Injectable()
export class AgentStreams implements OnModuleInit {
  readonly #feeds = new Map<string, Feed>();
  /** Streams of cities that have moved since the last look began. */
  readonly #moved = new Set<string>();
  #all = false;
  readonly #stop = new AbortController();
  readonly #looks = new Drain(
    () => this.#all || this.#moved.size > 0,
    () => this.#look(),
    (error) => this.log.debug({ err: error }, 'sessions of agents could not be read'),
    this.#stop.signal,
  );

  constructor(
    private readonly hub: SessionHub,
    private readonly reads: LiveReads,
    private readonly output: AgentOutput,
    private readonly transcripts: TranscriptsService,
    private readonly streams: EventStreams,
    private readonly signals: Signals,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onModuleInit(): void {
    const forget = this.signals.onStreams((names) => {
      for (const { city } of this.#feeds.values()) if (names === 'all' || names.has(city.stream)) this.#moved.add(city.stream);
      void this.#looks.run();
    });
    const endTicks = onTicks(() => {
      this.#all = true;
      void this.#looks.run();
    }, LOOK_MS);
    this.lifecycle.onStop('streams', 'agents of streams', async () => {
      this.#stop.abort();
      forget();
      endTicks();
      await this.#looks.settled();
    });
  }

  /** @throws ProblemError agent_not_found, invalid_cursor, cursor_expired, cursor_ahead, unavailable */
  async open(city: CityScope, dir: string, base: string, caller: Principal, lastEventId: string | undefined): Promise<StreamOpening> {
    const { agent, session } = await this.output.find(city, dir, base);
    this.hub.assertOpen();
    this.streams.assertRoom();
    const value = lastEventId?.trim();
    const resumed = value === undefined || value === '' ? undefined : await this.#resumed(city, agent, value, session.pk);
    const page = await this.transcripts.page(session.pk, { tail: '1', limit: FIRST_ENTRIES }, false);
    const at = { pk: session.pk, rev: page.head };
    const view = this.#feed(city, agent, at).view;
    const id = agentId(at.pk, at.rev);
    const options = { operation: 'snapshot', pending: [], position: id, pagination: paginationOf(page, { tail: '1' }) } as const;
    let first = resumed === undefined ? dataFrame(id, page, page.rows, view, options) : '';
    await this.#caughtUp(city, agent, at);
    let feed: AgentFeed | undefined;
    const take = (subscriber: Subscriber): void => {
      if (this.hub.stopped) return subscriber.end('');
      feed = this.#feed(city, agent, at);
      if (first !== '') subscriber.write(first);
      first = ''; // this closure lives as long as the stream
      subscriber.next = feed.channel.end;
      subscriber.lag = lagOf(feed, resumed ?? [at]);
      feed.channel.attach(subscriber);
    };
    const closed = (subscriber: Subscriber): void => feed?.channel.remove(subscriber);
    const headers: Record<string, string> = session.live ? {} : { 'svc-agent-status': 'stopped' };
    return { headers, opening: this.streams.opening({ ...openerOf(caller, city.name), take, closed }) };
  }

  /**
   * What a client still lacks of the sessions from its position on: the first where it was, the others from their beginnings. Undefined where it has
   * to begin anew.
   */
  async #resumed(city: CityScope, agent: string, value: string, current: number): Promise<AgentPosition[] | undefined> {
    const from = parseAgentId(value);
    if (from === undefined) throw problem('invalid_cursor', 'Last-Event-ID is not a position', { at: LAST_EVENT_ID });
    const sessions = await this.reads.agentSessions(city.streamId, agent, from.pk, Math.max(from.pk, current), MAX_SESSIONS);
    const [first] = sessions;
    if (first?.pk !== from.pk) {
      if ((await this.reads.heads([from.pk])).length === 0)
        throw problem('cursor_expired', 'the session of this position is not there any more, begin without one');
      throw problem('invalid_cursor', `Last-Event-ID is no position of the agent ${agent}`, { at: LAST_EVENT_ID });
    }
    const newest = newestBefore(first, from.rev, SESSION_STEP);
    if (newest !== undefined) throw ahead('Last-Event-ID', value, agentId(from.pk, newest));
    // One that is older speaks again: its stream begins anew.
    if (from.pk > current) return undefined;
    if (sessions.length === MAX_SESSIONS) throw problem('cursor_expired', `the agent ${agent} has had ${MAX_SESSIONS} sessions since`);
    return [from, ...sessions.slice(1).map(({ pk }) => ({ pk, rev: 0 }))];
  }

  /** What the feed publishes later is new to who has all up to `at`. @throws ProblemError unavailable when that takes too long */
  async #caughtUp(city: CityScope, agent: string, at: AgentPosition): Promise<void> {
    const feed = this.#feed(city, agent, at);
    const reached = (): boolean => feed.position.pk >= at.pk || this.#stop.signal.aborted;
    // It may not have heard yet that another session speaks.
    if (!(await this.#looks.until(reached, () => this.#moved.add(city.stream))))
      throw problem('unavailable', 'the sessions of the agent cannot be read at the moment, try again');
    await feed.caughtUp(at);
  }

  #feed(city: CityScope, agent: string, at: AgentPosition): AgentFeed {
    const key = `${city.streamId}:${agent}`;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new AgentFeed(city, agent, at, this.hub, this.reads, this.hub.sent);
      feed.forget = this.hub.keep(feed.channel);
      this.#feeds.set(key, feed);
    }
    feed.idleSince = undefined;
    return feed;
  }

  /** Whether other sessions speak now, where something has moved, or everywhere. What moves meanwhile is seen by the next look. */
  async #look(): Promise<void> {
    const [all, moved] = [this.#all, new Set(this.#moved)];
    this.#all = false;
    this.#moved.clear();
    try {
      for (const [key, feed] of this.#feeds) if (abandoned(feed, Date.now())) this.#forget(key, feed);
      const feeds = [...this.#feeds].filter(([, { city }]) => all || moved.has(city.stream));
      const agents = feeds.map(([, { city, agent, position }]) => ({ streamId: city.streamId, agent, above: position.pk }));
      const speaking = agents.length === 0 ? [] : await this.reads.speaking(agents);
      for (const [n, [key, feed]] of feeds.entries()) {
        if (this.#stop.signal.aborted) return;
        const next = speaking[n];
        if (next !== undefined) await this.#hand(key, feed, next.pk);
      }
    } catch (error) {
      this.#all = true;
      throw error;
    }
  }

  async #hand(key: string, feed: Feed, to: number): Promise<void> {
    if (to > feed.position.pk) return feed.goOn(to);
    // Positions only grow: who comes back is given the one that speaks again from its end.
    feed.channel.shutdown(new Date());
    feed.channel.retire();
    this.#forget(key, feed);
  }

  #forget(key: string, feed: Feed): void {
    feed.stop();
    feed.forget?.();
    this.#feeds.delete(key);
  }
}

/** What was published before the subscriber came and it does not have. */
function lagOf(feed: AgentFeed, has: readonly AgentPosition[]): Map<number, Lag> | undefined {
  const from = new Map(has.map(({ pk, rev }) => [pk, rev]));
  const start = has[0]!.pk;
  const lag = new Map<number, Lag>();
  const current = feed.position;
  const before = [...from.keys()].filter((pk) => pk < current.pk).map((pk) => ({ pk, rev: Number.MAX_SAFE_INTEGER }));
  for (const { pk, rev } of [...before, ...feed.left, current]) {
    const pos = from.get(pk) ?? 0;
    if (pk >= start && pos < rev) lag.set(pk, { pos, upto: rev });
  }
  return lag.size === 0 ? undefined : lag;
}
