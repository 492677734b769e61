import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import type { EpochEnds } from '../event-log/epochs.js';
import { taggedEnvelope } from '../event-log/wire.js';
import type { Frame } from './channel.js';
import type { LeftStreams } from './left-streams.js';
import { frameText, keptBytes } from './sse.js';
import type { WireRow } from './stream-log.repository.js';

/** A stream of the feed, and how far it has been published. */
export interface FeedStream {
  readonly id: number;
  readonly name: string;
  readonly position: number;
  readonly ends: EpochEnds;
}

export interface Feed {
  readonly streams: ReadonlyMap<number, FeedStream>;
  /** Changes whenever a stream joins or leaves. */
  readonly version: number;
  /** Streams that have left the feed; some subscribers may still lack events of theirs. */
  readonly left: LeftStreams;
}

/** Shared by all groups of the same cities, whatever event types they want: the streams that their ids cover, and the bytes of each frame. */
export class FeedScope {
  readonly #cities: ReadonlySet<string> | undefined;
  #streams: readonly FeedStream[] = [];
  #version = -1;
  /** The row that was published last, and its frame. */
  #row: WireRow | undefined;
  #frame: Frame | undefined;

  /** @param cities only these; undefined means all, those that appear later included */
  constructor(
    readonly key: string,
    cities: readonly string[] | undefined,
    private readonly feed: Feed,
  ) {
    this.#cities = cities === undefined ? undefined : new Set(cities);
  }

  visible(city: string): boolean {
    return this.#cities === undefined || this.#cities.has(city);
  }

  readonly inFeed = (stream: string): boolean => stream === SUPERVISOR_STREAM || this.visible(stream);

  /** Unordered. */
  get streams(): readonly FeedStream[] {
    if (this.#version !== this.feed.version) {
      this.#version = this.feed.version;
      this.#streams = [...this.feed.streams.values()].filter((s) => this.inFeed(s.name));
    }
    return this.#streams;
  }

  /** The frame of a row that is published to one group after the other. It is made for the first; its `id` is the same for all. */
  frame(row: WireRow, id: () => string): Frame {
    if (this.#frame === undefined || this.#row !== row) {
      const at = id();
      const bytes = keptBytes(frameText(at, 'tagged_event', taggedEnvelope(row.text, row.city, row.stream)));
      this.#row = row;
      this.#frame = { bytes, bodyAt: at.length + 5, streamId: row.sid, seq: row.seq };
    }
    return this.#frame;
  }
}
