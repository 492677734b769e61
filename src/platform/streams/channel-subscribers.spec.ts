import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Metrics } from '../health/metrics.js';
import { Channel, type ChannelSource } from './channel.js';
import { MAX_PENDING_BYTES, STALL_LIMIT_MS, Subscriber } from './subscriber.js';

/** A socket whose client reads, or does not. */
class Line extends Writable {
  readonly sent: string[] = [];
  bytesWritten = 0;
  constructor(private readonly reads: boolean) {
    super({ highWaterMark: 4 * MAX_PENDING_BYTES, decodeStrings: true });
  }
  override write(chunk: never): boolean {
    this.bytesWritten += Buffer.byteLength(chunk);
    this.sent.push(String(chunk));
    return super.write(chunk);
  }
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    if (this.reads) done();
  }
  quiet: { ms: number; over: () => void } | undefined;
  setTimeout(ms: number, over?: () => void): void {
    if (over !== undefined) this.quiet = { ms, over };
  }
  setNoDelay(): void {}
}

const HEARTBEAT_MS = 15_000;

function joined({ reads = true, frames = 4_096 } = {}) {
  const replay = (): Promise<undefined> => new Promise(() => undefined);
  const source: ChannelSource = { replay, currentId: () => 'the newest' };
  const channel = new Channel(source, new Metrics().counter({ name: 'sent', help: 'sent' }), { frames, bytes: 1 << 30 });
  const line = new Line(reads);
  const subscriber = new Subscriber(line as unknown as Socket, HEARTBEAT_MS, (one) => channel.remove(one));
  subscriber.next = channel.end;
  channel.attach(subscriber);
  const publish = (seq: number, bytes = 10): void =>
    channel.publish({ bytes: Buffer.from(`frame ${seq} `.padEnd(bytes)), bodyAt: 0, streamId: 1, seq });
  return { channel, line, subscriber, publish, source };
}

const swept = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe('a subscriber of a channel', () => {
  it('gets a heartbeat when it has everything, and none while it lacks something', () => {
    const { channel, line, subscriber } = joined();
    const beat = (): number => {
      line.sent.length = 0;
      channel.tick(subscriber.beatAt, HEARTBEAT_MS);
      return line.sent.filter((text) => text.includes('the newest')).length;
    };
    expect(beat()).toBe(1);
    subscriber.state = 'behind';
    expect(beat()).toBe(0);
  });

  // Guard: a client takes a connection for dead that is silent for as long as a replay finds nothing to tell.
  it('is told how far its replay is while that has nothing to tell, by no heartbeat', () => {
    const { channel, line, subscriber, source } = joined();
    const beat = (): string => {
      line.sent.length = 0;
      channel.tick(subscriber.beatAt, HEARTBEAT_MS);
      return line.sent.join('');
    };
    subscriber.state = 'behind';
    expect(beat()).toBe(':\n\n');
    source.replayId = () => '7';
    expect(beat()).toBe('id: 7\n\n');
  });

  it('is owed exactly the frames that the ring has dropped before it got them', () => {
    const { channel, subscriber, publish } = joined({ frames: 4 });
    subscriber.state = 'behind';
    subscriber.lag = new Map([[2, { pos: 0, upto: 1 }]]);
    for (let seq = 1; seq <= 6; seq++) publish(seq);
    expect(channel.base).toBe(2);
    expect(subscriber.next).toBe(2);
    expect(subscriber.lag?.get(1)).toEqual({ pos: 0, upto: 2 });
  });

  it('is not written to while it does not read', async () => {
    const { line, subscriber, publish } = joined({ reads: false });
    publish(1, 2 * MAX_PENDING_BYTES);
    await swept();
    expect(subscriber.congested).toBe(true);
    const before = line.sent.length;
    subscriber.lag = new Map([[2, { pos: 0, upto: 1 }]]);
    publish(2);
    await swept();
    expect([subscriber.state, line.sent.length]).toEqual(['behind', before]);
  });

  it('is closed when it has read nothing for too long, and not before', () => {
    const before = Date.now();
    const { channel, subscriber, publish } = joined({ reads: false });
    publish(1);
    const after = Date.now();
    // Whenever in between it was seen for the first time: not yet over, then over.
    channel.tick(before + STALL_LIMIT_MS - 1, HEARTBEAT_MS);
    expect(subscriber.state).not.toBe('closed');
    channel.tick(after + STALL_LIMIT_MS, HEARTBEAT_MS);
    expect(subscriber.state).toBe('closed');
  });

  // Guard: nobody else looks after a stream that has ended.
  it('is closed when it does not read how its stream has ended', () => {
    const { channel, line, publish } = joined({ reads: false });
    publish(1);
    channel.shutdown(new Date());
    expect([channel.size, line.destroyed, line.quiet?.ms]).toEqual([0, false, STALL_LIMIT_MS]);
    line.quiet!.over();
    expect(line.destroyed).toBe(true);
  });

  it('that comes once nobody feeds the channel any more is sent away', () => {
    const { channel } = joined();
    channel.retire();
    const late = new Line(true);
    const subscriber = new Subscriber(late as unknown as Socket, HEARTBEAT_MS, () => undefined);
    channel.attach(subscriber);
    expect([subscriber.state, channel.size]).toEqual(['closed', 1]);
  });
});
