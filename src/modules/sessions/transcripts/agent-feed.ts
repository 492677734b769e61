import type { Counter } from 'prom-client';
import { Channel, type ChannelSource } from '../../../platform/streams/channel.js';
import type { Subscriber } from '../../../platform/streams/subscriber.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Changes, LiveReads } from './live-reads.repository.js';
import { beginsEpoch } from './entry-row.js';
import { replay, SESSION_RING, type Follower } from './session-feed.js';
import { framesOf, type View } from './session-frames.js';
import type { SessionHub } from './session-hub.js';

/** Digits of a position within a session in the id of an agent's frame. */
const REV_DIGITS = 9;

/** A position in what an agent says: a session of its, and a position there. One decimal number, growing with both. */
export interface AgentPosition {
  readonly pk: number;
  readonly rev: number;
}

export function agentId(pk: number, rev: number): string {
  return `${pk}${String(rev).padStart(REV_DIGITS, '0')}`;
}

/** Undefined for anything that `agentId` does not make. */
export function parseAgentId(text: string): AgentPosition | undefined {
  if (!/^[1-9]\d{9,23}$/.test(text)) return undefined;
  const pk = Number(text.slice(0, -REV_DIGITS));
  return Number.isSafeInteger(pk) ? { pk, rev: Number(text.slice(-REV_DIGITS)) } : undefined;
}

class AgentFollower implements Follower {
  readonly withRaw = false;

  constructor(
    readonly pk: number,
    public position: number,
    private readonly view: View,
    private readonly channel: Channel,
  ) {}

  publish(changes: Changes, upto: number): void {
    // What its readers have may be lost: they come back with the position that they have, and are told.
    if (beginsEpoch(this.position, upto)) this.channel.shutdown(new Date());
    for (const frame of framesOf(changes, this.position, upto, this.view)) this.channel.publish(frame);
    this.position = upto;
  }

  /** Another session will speak for the agent. */
  gone(): void {
    this.position = Math.max(this.position, 0);
  }
}

/** The subscribers of what one agent says, whichever session says it. */
export class AgentFeed implements ChannelSource {
  readonly channel: Channel;
  readonly view: View;
  idleSince: number | undefined;
  /** Sessions that spoke before, with the position at which they were left. */
  readonly left: AgentPosition[] = [];
  #current: AgentFollower;

  constructor(
    readonly city: CityScope,
    readonly agent: string,
    at: AgentPosition,
    private readonly hub: SessionHub,
    private readonly reads: LiveReads,
    sent: Counter,
  ) {
    this.view = { format: 'agent', agent, thinking: false, id: agentId };
    this.channel = new Channel(this, sent, SESSION_RING);
    this.#current = new AgentFollower(at.pk, at.rev, this.view, this.channel);
    hub.follow(at.pk, this.#current);
  }

  get position(): AgentPosition {
    return { pk: this.#current.pk, rev: this.#current.position };
  }

  /** @throws ProblemError unavailable */
  caughtUp({ pk, rev }: AgentPosition): Promise<void> {
    return pk === this.#current.pk ? this.hub.caughtUp(pk, this.#current, rev) : Promise.resolve();
  }

  /** Goes on with a session from its beginning, once all of the last one is published. */
  async goOn(pk: number): Promise<void> {
    const [last] = await this.reads.heads([this.#current.pk]);
    if (last !== undefined) await this.caughtUp({ pk: last.pk, rev: last.head });
    this.left.push(this.position);
    this.stop();
    this.#current = new AgentFollower(pk, 0, this.view, this.channel);
    this.hub.follow(pk, this.#current);
  }

  stop(): void {
    this.hub.unfollow(this.#current.pk, this.#current);
  }

  currentId(): string {
    return agentId(this.#current.pk, this.#current.position);
  }

  replay(subscriber: Subscriber): Promise<Buffer | undefined> {
    return replay(subscriber, this.reads, this.view);
  }
}
