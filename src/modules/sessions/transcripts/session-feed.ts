import type { Counter } from 'prom-client';
import { Channel, type ChannelSource, type RingLimit } from '../../../platform/streams/channel.js';
import { keptBytes } from '../../../platform/streams/sse.js';
import type { Subscriber } from '../../../platform/streams/subscriber.js';
import type { Changes, LiveReads } from './live-reads.repository.js';
import { beginsEpoch } from './entry-row.js';
import { activityFrame, framesOf, type View } from './session-frames.js';

/**
 * There may be thousands of sessions that somebody follows, and each frame repeats what its message said before. Nobody resumes
 * from this ring: it is for the moment between two writes.
 */
export const SESSION_RING: RingLimit = { frames: 256, bytes: 256 * 1024 };

/** What is given the changes of a session, in order. */
export interface Follower {
  /** Everything up to here has been published. */
  readonly position: number;
  readonly withRaw: boolean;
  /** Publishes what changed up to `upto` and moves there. */
  publish(changes: Changes, upto: number): void;
  /** The session is not there any more. */
  gone(): void;
}

/** The subscribers of one session that see it the same way. */
export class SessionFeed implements ChannelSource, Follower {
  readonly channel: Channel;
  idleSince: number | undefined;
  #ended = false;

  constructor(
    readonly pk: number,
    readonly view: View,
    public position: number,
    private readonly reads: LiveReads,
    sent: Counter,
  ) {
    this.channel = new Channel(this, sent, SESSION_RING);
  }

  get withRaw(): boolean {
    return this.view.format === 'raw';
  }

  /** Nobody new joins it: what it has is written, then its streams end. */
  get ended(): boolean {
    return this.#ended;
  }

  currentId(): string {
    return this.view.id(this.pk, this.position);
  }

  publish(changes: Changes, upto: number): void {
    if (beginsEpoch(this.position, upto)) return this.#endEpoch(upto);
    for (const frame of framesOf(changes, this.position, upto, this.view)) this.channel.publish(frame);
    const after = this.position;
    this.position = upto;
    if (changes.state !== 'closed' || changes.more || upto < changes.head) return;
    if (changes.activity_rev <= after) {
      const bytes = keptBytes(activityFrame(this.currentId(), 'idle', this.view));
      this.channel.publish({ bytes, bodyAt: 0, streamId: this.pk, seq: upto, after: upto });
    }
    this.gone();
  }

  /** What its readers have may be lost: they come back with the position that they have, and are told. */
  #endEpoch(upto: number): void {
    this.channel.shutdown(new Date());
    this.channel.retire();
    this.position = upto;
    this.gone();
  }

  gone(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.channel.endAll();
  }

  replay(subscriber: Subscriber): Promise<Buffer | undefined> {
    return replay(subscriber, this.reads, this.view);
  }
}

/** The next bytes of what a subscriber lacks, session by session in their order; moves its lag on. */
export async function replay(subscriber: Subscriber, reads: LiveReads, view: View): Promise<Buffer | undefined> {
  const [pk] = [...(subscriber.lag?.keys() ?? [])].sort((a, b) => a - b);
  const lag = pk === undefined ? undefined : subscriber.lag!.get(pk)!;
  if (pk === undefined || lag === undefined) {
    subscriber.lag = undefined;
    return undefined;
  }
  const { pos, upto } = lag;
  const [changes] = pos < upto ? await reads.changes([{ pk, pos, upto }], view.format === 'raw') : [];
  if (subscriber.lag?.get(pk) !== lag) return undefined;
  // While it was read the ring may have handed over more: `upto` of the lag may have grown, what was read has not.
  const end = changes?.more === true ? changes.rows.at(-1)!.rev : upto;
  lag.pos = end;
  if (lag.pos >= lag.upto) {
    subscriber.lag.delete(pk);
    if (subscriber.lag.size === 0) subscriber.lag = undefined;
  }
  if (changes === undefined) return undefined;
  const frames = framesOf(changes, pos, end, view);
  return frames.length === 0 ? undefined : Buffer.concat(frames.map(({ bytes }) => bytes));
}
