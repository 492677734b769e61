import { endAbove, placeOf, type EpochEnds } from '../event-log/epochs.js';
import { taggedEnvelope } from '../event-log/wire.js';
import { StreamExpired, type Channel, type ChannelSource, type Frame } from './channel.js';
import type { Checkpoints } from './checkpoints.js';
import { byteOrder } from './cursor.js';
import type { Feed, FeedScope, FeedStream } from './feed-scope.js';
import { COMPOSITE_LIMIT, CompositePosition, type Position } from './positions.js';
import { frameText } from './sse.js';
import { assertStillKept } from './still-kept.js';
import type { StreamLogRepository, WireRow } from './stream-log.repository.js';
import type { Lag, Subscriber } from './subscriber.js';

/** Limits of one read of a replay. The statement computes the size of every event, so the count is what usually fits into CHUNK_BYTES. */
const CHUNK_EVENTS = 250;
const CHUNK_STREAMS = 64;
/** Held in memory for each subscriber: replays of the feed are not shared. */
const CHUNK_BYTES = 256 * 1024;
/** When more streams than this differ from the hub's place, a subscriber's ids count from a stored row of their own. */
const ELSEWHERE_LIMIT = 48;

/** Subscribers of the supervisor's feed with equal rights and filters. */
export class SupervisorSource implements ChannelSource {
  channel!: Channel;
  readonly #kinds: ReadonlySet<string> | undefined;

  constructor(
    private readonly feed: Feed,
    readonly scope: FeedScope,
    private readonly types: readonly string[] | undefined,
    private readonly repository: StreamLogRepository,
    private readonly checkpoints: Checkpoints,
  ) {
    this.#kinds = types === undefined ? undefined : new Set(types);
  }

  currentId(): string {
    return this.#position(new Map()).id();
  }

  /** The frame of a row that the hub has just published, or undefined when this group does not get it. */
  encode(row: WireRow): Frame | undefined {
    return this.#wants(row) ? this.scope.frame(row, () => this.currentId()) : undefined;
  }

  /** The streams that this group's ids cover, unordered. Composite ids name all of them, opaque ids only those that have moved. */
  get streams(): readonly FeedStream[] {
    return this.scope.streams;
  }

  /** Undefined for a subscriber that is far behind: its ids need a stored row. */
  replayId({ next, lag }: Subscriber): string | undefined {
    return lag === undefined || this.#isFar(lag) ? undefined : this.#position(this.#elsewhere(next, lag), lag).id();
  }

  async replay(subscriber: Subscriber): Promise<Buffer | undefined> {
    const lag = subscriber.lag;
    if (lag === undefined) return undefined;
    for (const [id, l] of lag) {
      l.pos = placeOf(this.#ends(id, l), l.pos);
      if (!isBehind(l) && l.stays !== true) lag.delete(id);
    }
    if (![...lag.values()].some(isBehind)) {
      subscriber.lag = subscriber.base = undefined;
      return undefined;
    }
    return this.#fromRing(subscriber, lag) ?? (await this.#fromLog(subscriber, lag));
  }

  #ends(id: number, lag: Lag): EpochEnds {
    return this.feed.streams.get(id)?.ends ?? lag.ends ?? this.feed.left.get(id)?.ends ?? [];
  }

  #wants(row: WireRow): boolean {
    return this.scope.visible(row.city) && (this.#kinds === undefined || this.#kinds.has(row.type));
  }

  /** The positions of a subscriber that has everything before ring index `next`, where they differ from the hub's place. */
  #elsewhere(next: number, lag: ReadonlyMap<number, Lag>): Map<number, number> {
    const elsewhere = new Map<number, number>();
    for (let i = next; i < this.channel.end; i++) {
      const frame = this.channel.frame(i)!;
      if (!elsewhere.has(frame.streamId)) elsewhere.set(frame.streamId, frame.seq - 1);
    }
    for (const [id, l] of lag) elsewhere.set(id, l.pos);
    return elsewhere;
  }

  #position(elsewhere: ReadonlyMap<number, number>, lag?: ReadonlyMap<number, Lag>): Position {
    if (this.streams.length <= COMPOSITE_LIMIT) return this.#composite(elsewhere, lag);
    if (!this.checkpoints.ready) void this.checkpoints.prepare();
    return this.checkpoints.position(elsewhere, this.scope.inFeed) ?? this.#composite(elsewhere, lag);
  }

  /** Whether composite ids would name many streams that have left: each frame would be as long as all their names. */
  #namesMany(lag: ReadonlyMap<number, Lag>): boolean {
    if (lag.size <= COMPOSITE_LIMIT || this.streams.length > COMPOSITE_LIMIT) return false;
    let left = 0;
    for (const id of lag.keys()) if (!this.feed.streams.has(id)) left++;
    return left > COMPOSITE_LIMIT;
  }

  #isFar(lag: ReadonlyMap<number, Lag>): boolean {
    return (lag.size > ELSEWHERE_LIMIT && this.streams.length > COMPOSITE_LIMIT) || this.#namesMany(lag);
  }

  #composite(elsewhere: ReadonlyMap<number, number>, lag: ReadonlyMap<number, Lag> | undefined): CompositePosition {
    const streams = this.streams.map((s) => ({ id: s.id, name: s.name, seq: elsewhere.get(s.id) ?? s.position }));
    for (const [id, seq] of elsewhere) {
      if (this.feed.streams.has(id)) continue;
      const name = lag?.get(id)?.name ?? this.feed.left.get(id)?.name;
      if (name !== undefined) streams.push({ id, name, seq });
    }
    for (const [id, { name, head }] of this.feed.left.lately())
      if (this.scope.inFeed(name) && !elsewhere.has(id)) streams.push({ id, name, seq: head });
    return new CompositePosition(streams.sort((a, b) => byteOrder(a.name, b.name)));
  }

  /** Serves the lag from memory when the ring still holds all of it; the ids are the subscriber's own. */
  #fromRing(s: Subscriber, lag: Map<number, Lag>): Buffer | undefined {
    const { channel } = this;
    if (this.types !== undefined || this.#namesMany(lag)) return undefined;
    const first = new Map<number, number>();
    for (let i = channel.base; i < s.next; i++) {
      const frame = channel.frame(i)!;
      if (!first.has(frame.streamId)) first.set(frame.streamId, frame.seq);
    }
    for (const [id, l] of lag) if ((first.get(id) ?? Infinity) > l.pos + 1) return undefined;
    const position = this.#position(this.#elsewhere(s.next, lag), lag);
    const parts: Buffer[] = [];
    let bytes = 0;
    for (let i = channel.base; i < s.next; i++) {
      const frame = channel.frame(i)!;
      const l = lag.get(frame.streamId);
      if (l === undefined || frame.seq <= l.pos || frame.seq > l.upto) continue;
      if (bytes > CHUNK_BYTES) return Buffer.concat(parts);
      bytes += frame.bytes.length;
      l.pos = frame.seq;
      position.advance(frame.streamId, frame.seq);
      parts.push(Buffer.from(`id: ${position.id()}\n`), frame.bytes.subarray(frame.bodyAt));
    }
    s.lag = s.base = undefined;
    return Buffer.concat(parts);
  }

  async #fromLog(s: Subscriber, lag: Map<number, Lag>): Promise<Buffer | undefined> {
    const chosen = [...lag].filter(([, l]) => isBehind(l)).slice(0, CHUNK_STREAMS);
    const limit = Math.ceil(CHUNK_EVENTS / chosen.length);
    const ranges = chosen.map(([streamId, l]) => ({ streamId, after: l.pos, upto: endAbove(this.#ends(streamId, l), l.pos, l.upto) }));
    const { rows, more } = await this.repository.read(ranges, limit, CHUNK_BYTES, this.types);
    if (this.types !== undefined) await assertStillKept(this.repository, ranges);
    // No row is stored for a chunk without a visible event.
    const own = this.#isFar(lag) && rows.some((row) => this.#wants(row)) ? await this.#own(s, lag) : undefined;
    if (s.lag !== lag) return undefined;
    const position = own ?? this.#position(this.#elsewhere(s.next, lag), lag);
    let text = '';
    const counts = new Map<number, number>();
    for (const row of rows) {
      const l = lag.get(row.sid)!;
      if (this.types === undefined && row.seq !== l.pos + 1) throw new StreamExpired('the log begins after this position');
      counts.set(row.sid, (counts.get(row.sid) ?? 0) + 1);
      l.pos = row.seq;
      position.advance(row.sid, row.seq);
      if (this.#wants(row)) text += frameText(position.id(), 'tagged_event', taggedEnvelope(row.text, row.city, row.stream));
    }
    for (const range of ranges) {
      const l = lag.get(range.streamId)!;
      const count = counts.get(range.streamId) ?? 0;
      if (more) {
        // The size limit left events out, perhaps all of this stream.
        if (!isBehind(l) && l.stays !== true) lag.delete(range.streamId);
        continue;
      }
      if (this.types === undefined && count === 0) throw new StreamExpired('the log begins after this position');
      if (this.types !== undefined && count < limit) l.pos = Math.max(l.pos, range.upto);
      if (!isBehind(l) && l.stays !== true) lag.delete(range.streamId);
    }
    return text === '' ? undefined : Buffer.from(text);
  }

  async #own(s: Subscriber, lag: ReadonlyMap<number, Lag>): Promise<Position> {
    const elsewhere = this.#elsewhere(s.next, lag);
    const vector = new Map(elsewhere);
    for (const stream of this.streams) if (!vector.has(stream.id)) vector.set(stream.id, stream.position);
    for (const [id, { name, head }] of this.feed.left.lately()) if (this.scope.inFeed(name) && !vector.has(id)) vector.set(id, head);
    const own = await this.checkpoints.ofReplay(vector, CHUNK_STREAMS, s.base, s.keyId);
    // The base of the next chunk's ids, unless the lag was replaced or ended meanwhile.
    if (s.lag === lag) s.base = own.base;
    return own;
  }
}

const isBehind = ({ pos, upto }: Lag): boolean => pos < upto;
