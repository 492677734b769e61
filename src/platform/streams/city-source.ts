import { endAbove, placeOf, type EpochEnds } from '../event-log/epochs.js';
import { cityEnvelope } from '../event-log/wire.js';
import { StreamExpired, type ChannelSource, type Frame } from './channel.js';
import { PAGE_EVENTS, PageCache, slicePage, type Page } from './page-cache.js';
import { frameText, keptBytes } from './sse.js';
import { assertStillKept } from './still-kept.js';
import type { StreamLogRepository, WireRow } from './stream-log.repository.js';
import type { Subscriber } from './subscriber.js';

export interface StreamPosition {
  readonly id: number;
  readonly position: number;
  readonly ends: EpochEnds;
}

/** Of one page, which many share. */
const PAGE_BYTES = 1 << 20;
/** Of what is read for one subscriber alone. A statement weighs all events that it finds, so there are no more than mostly fit. */
const OWN_BYTES = 256 * 1024;
const OWN_EVENTS = 250;

const NOTHING = Buffer.alloc(0);

const cityFrame = (row: WireRow): string => frameText(String(row.seq), 'event', cityEnvelope(row.text));

export function encodeCityFrame(row: WireRow): Frame {
  const bytes = keptBytes(cityFrame(row));
  return { bytes, bodyAt: String(row.seq).length + 5, streamId: row.sid, seq: row.seq };
}

/** Replays one city's stream from the log, in pages that all its subscribers share. */
export class CitySource implements ChannelSource {
  #endedAt: number | undefined;

  constructor(
    private readonly stream: StreamPosition,
    private readonly types: readonly string[] | undefined,
    private readonly repository: StreamLogRepository,
    private readonly pages: PageCache,
  ) {}

  /** The position after everything its channel was given. The stream itself moves on when its city starts again. */
  get position(): number {
    return this.#endedAt ?? this.stream.position;
  }

  /** Its channel is given nothing any more. */
  end(): void {
    this.#endedAt ??= this.stream.position;
  }

  currentId(): string {
    return String(this.position);
  }

  replayId(subscriber: Subscriber): string | undefined {
    const pos = subscriber.lag?.get(this.stream.id)?.pos;
    return pos === undefined ? undefined : String(pos);
  }

  async replay(subscriber: Subscriber): Promise<Buffer | undefined> {
    const lag = subscriber.lag?.get(this.stream.id);
    if (lag === undefined || lag.pos >= lag.upto) {
      subscriber.lag = undefined;
      return undefined;
    }
    const { ends } = this.stream;
    const pos = placeOf(ends, lag.pos);
    const upto = endAbove(ends, pos, lag.upto);
    const bytes =
      pos >= upto ? { bytes: NOTHING, upto } : this.types === undefined ? await this.#page(pos, upto) : await this.#filtered(pos, upto);
    if (subscriber.lag?.get(this.stream.id) !== lag) return undefined;
    lag.pos = bytes.upto;
    if (lag.pos >= lag.upto) subscriber.lag = undefined;
    return bytes.bytes.length === 0 ? undefined : bytes.bytes;
  }

  async #page(pos: number, upto: number): Promise<{ bytes: Buffer; upto: number }> {
    const first = Math.floor(pos / PAGE_EVENTS) * PAGE_EVENTS + 1;
    const last = Math.min(first + PAGE_EVENTS - 1, upto);
    let page = await this.#from(first, last);
    // A page of long events ends early. Who is beyond its end reads on from where he is, as all do who came this way.
    if (page.last <= pos) page = await this.#from(pos + 1, last);
    if (pos + 1 < page.first) throw new StreamExpired('the log begins after this position');
    return { bytes: slicePage(page, pos, page.last), upto: page.last };
  }

  #from(first: number, last: number): Promise<Page> {
    return this.pages.get(`${this.stream.id}:${first}:${last}`, () => this.#load(first, last));
  }

  async #load(first: number, last: number): Promise<Page> {
    const range = { streamId: this.stream.id, after: first - 1, upto: last };
    const { rows, more } = await this.repository.read([range], PAGE_EVENTS, PAGE_BYTES);
    const start = rows[0]?.seq ?? last + 1;
    const end = more ? rows[rows.length - 1]!.seq : last;
    if (start + rows.length - 1 !== end) throw new Error(`the log of stream ${this.stream.id} has a gap between ${first} and ${end}`);
    const offsets = new Uint32Array(rows.length);
    let at = 0;
    const texts = rows.map((row, i) => {
      const text = cityFrame(row);
      offsets[i] = at;
      at += Buffer.byteLength(text);
      return text;
    });
    return { first: start, last: end, bytes: keptBytes(texts.join('')), offsets };
  }

  async #filtered(pos: number, upto: number): Promise<{ bytes: Buffer; upto: number }> {
    const range = { streamId: this.stream.id, after: pos, upto };
    const { rows, more } = await this.repository.read([range], OWN_EVENTS, OWN_BYTES, this.types);
    await assertStillKept(this.repository, [range]);
    const done = !more && rows.length < OWN_EVENTS;
    return { bytes: Buffer.from(rows.map(cityFrame).join('')), upto: done ? upto : rows[rows.length - 1]!.seq };
  }
}
