import { SUPERVISOR, type Final, type LogRow, type StreamRow, type Subscriber } from './history.js';

const JOINED = 'city.created';
const STOPPED = 'controller.stopped';
const LEFT = 'city.unregister_requested';

/** The final log by stream and seq, and which events belong to the supervisor's feed. */
export class LogIndex {
  readonly #rows = new Map<string, (LogRow | undefined)[]>();
  readonly #outside = new Set<LogRow>();
  /** Seqs at which a stream joined the feed. */
  readonly #joins = new Map<string, number[]>();
  readonly streams: ReadonlyMap<string, StreamRow>;

  constructor(final: Final) {
    this.streams = new Map(final.streams.map((s) => [s.name, s]));
    for (const row of [...final.log].sort((a, b) => a.seq - b.seq)) {
      let rows = this.#rows.get(row.stream);
      if (rows === undefined) this.#rows.set(row.stream, (rows = []));
      rows[row.seq] ??= row;
    }
    for (const [stream, rows] of this.#rows) this.#index(stream, rows);
  }

  /**
   * Between its leaving and its next joining a stream is no part of the feed: its events may or may not be seen there.
   * All that is still written then is that the controller has stopped; anything else comes after a new joining.
   */
  #index(stream: string, rows: readonly (LogRow | undefined)[]): void {
    const joins: number[] = [];
    let outside = false;
    for (const row of rows) {
      if (row === undefined) continue;
      if (row.type === JOINED || (outside && row.type !== STOPPED)) {
        outside = false;
        joins.push(row.seq);
      }
      if (outside) this.#outside.add(row);
      if (row.type === LEFT) outside = true;
    }
    this.#joins.set(stream, joins);
  }

  row(stream: string, seq: number): LogRow | undefined {
    return this.#rows.get(stream)?.[seq];
  }

  head(stream: string): number {
    return (this.#rows.get(stream)?.length ?? 1) - 1;
  }

  stream(name: string): readonly (LogRow | undefined)[] {
    return this.#rows.get(name) ?? [];
  }

  joins(stream: string): readonly number[] {
    return this.#joins.get(stream) ?? [];
  }

  /** True when the stream is no part of the feed after this event. */
  gone(stream: string, seq: number): boolean {
    const row = this.row(stream, seq);
    return row !== undefined && (row.type === LEFT || this.#outside.has(row));
  }

  left(stream: string): boolean {
    return this.stream(stream).some((row) => row?.type === LEFT);
  }

  /** What this subscriber must get of a stream after `after` up to `upto`. */
  due(subscriber: Subscriber, stream: string, after: number, upto: number): LogRow[] {
    const rows = this.stream(stream);
    const due: LogRow[] = [];
    for (let seq = Math.max(after, 0) + 1; seq <= Math.min(upto, rows.length - 1); seq++) {
      const row = rows[seq];
      if (row !== undefined && wants(subscriber, row) && !(subscriber.city === undefined && this.#outside.has(row))) due.push(row);
    }
    return due;
  }
}

export function wants(subscriber: Subscriber, row: LogRow): boolean {
  if (subscriber.city !== undefined && row.stream !== subscriber.city) return false;
  if (subscriber.cities !== undefined && !subscriber.cities.includes(row.city)) return false;
  return subscriber.types === undefined || subscriber.types.includes(row.type);
}

/** The streams whose positions the subscriber's ids name. */
export function follows(subscriber: Subscriber, stream: string): boolean {
  if (subscriber.city !== undefined) return stream === subscriber.city;
  return stream === SUPERVISOR || subscriber.cities === undefined || subscriber.cities.includes(stream);
}

/** The data of the frame that carries this event, to the byte. */
export function wireText(row: LogRow, atCity: boolean): string {
  return atCity ? row.text : `${row.text.slice(0, -1)},"city":${JSON.stringify(row.city)},"stream":${JSON.stringify(row.stream)}}`;
}
