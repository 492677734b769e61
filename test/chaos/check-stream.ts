import type { Connection, Frame, LogRow, Subscriber, Write } from './history.js';
import { SUPERVISOR } from './history.js';
import { follows, wants, wireText, type LogIndex } from './log-index.js';
import type { Positions, Vector } from './positions.js';
import type { Violations } from './violations.js';

interface Seen {
  readonly stream: string;
  readonly seq: number;
}

export interface StreamFacts {
  readonly log: LogIndex;
  readonly positions: Positions;
  /** Acknowledged emits by stream, in the order they were sent. */
  readonly acknowledged: ReadonlyMap<string, readonly (Write & { readonly seq: number })[]>;
  readonly violations: Violations;
}

/**
 * Follows one connection from the position it began at. What it must get is decided by the final log alone; what
 * came before is in the position, so that joined connections need no other memory.
 */
export class ConnectionCheck {
  readonly #at = new Map<string, number>();
  readonly #seen = new Set<string>();
  /** Streams of which this connection has brought an event. */
  readonly #mentioned = new Set<string>();
  readonly #began: ReadonlyMap<string, number>;
  /** Streams that the position or an id has named: every later id names them too. */
  readonly #named = new Set<string>();
  #ids = 0;

  constructor(
    private readonly facts: StreamFacts,
    private readonly subscriber: Subscriber,
    private readonly connection: Connection,
  ) {
    const { resume } = connection;
    if (resume.how !== 'head') this.#resume(resume.position);
    this.#began = new Map(this.#at);
  }

  run(): void {
    for (const frame of this.connection.frames) {
      if (frame.event === 'heartbeat') this.#id(frame, undefined);
      else if (frame.event !== 'retry') this.#event(frame);
    }
  }

  /** What is due and was not delivered, for a connection that should have everything. */
  missing(): LogRow[] {
    const missing: LogRow[] = [];
    const { log } = this.facts;
    for (const { name, head } of log.streams.values()) {
      if (!follows(this.subscriber, name)) continue;
      if (!this.#at.has(name) && log.left(name)) continue;
      const at = this.#at.get(name) ?? this.#unknownStart(name);
      missing.push(...log.due(this.subscriber, name, at, head));
    }
    return missing;
  }

  /** A stream that was never mentioned: what was written after the open is due. */
  #unknownStart(stream: string): number {
    const later = (this.facts.acknowledged.get(stream) ?? []).filter((w) => w.from > this.connection.openedAt);
    return later.length === 0 ? Infinity : Math.min(...later.map((w) => w.seq)) - 1;
  }

  #resume(position: string): void {
    const { log, positions } = this.facts;
    const vector = positions.parse(position, this.subscriber.city);
    if (vector === undefined) return this.#violated('resumable', `opened at ${position}, which is not a position`);
    for (const [name, seq] of vector) {
      if (!follows(this.subscriber, name)) continue;
      this.#at.set(name, seq);
      this.#named.add(name);
    }
    const since = vector.get(SUPERVISOR);
    if (this.subscriber.city !== undefined || since === undefined) return;
    for (const { name, joinedSeq, joinedSupervisorSeq } of log.streams.values()) {
      const once = log.joins(name).length === 1 && !log.left(name);
      if (once && !this.#at.has(name) && follows(this.subscriber, name) && joinedSupervisorSeq >= since) this.#at.set(name, joinedSeq);
    }
  }

  #event(frame: Frame): void {
    const { subscriber, connection } = this;
    const expected = subscriber.city === undefined ? 'tagged_event' : 'event';
    const seen = identify(frame.data, subscriber.city);
    if (seen === undefined || frame.event !== expected) return this.#violated('nothing uncommitted', 'a frame that is no event', frame);
    const row = this.#committed(seen, frame);
    if (frame.id === undefined) this.#violated('resumable', 'an event without an id', frame);
    const stream = row?.stream ?? seen.stream;
    if (!this.#at.has(stream)) this.#begin(stream, seen.seq - 1, seen.seq);
    this.#place({ stream, seq: seen.seq }, frame);
    if (frame.id !== undefined) this.#id(frame, { stream, seq: seen.seq });
    if (row !== undefined && !wants(subscriber, row)) {
      this.#violated('filtered', `${subscriber.name} got an event it does not want over connection ${connection.number}`, frame, row);
    }
  }

  /** The log's row that a frame shows. */
  #committed({ stream, seq }: Seen, frame: Frame): LogRow | undefined {
    const row = this.facts.log.row(stream, seq);
    if (row !== undefined && wireText(row, this.subscriber.city !== undefined) === frame.data) return row;
    this.#violated('nothing uncommitted', `${stream}:${seq} differs from the log`, frame, row);
    return undefined;
  }

  /** Order, uniqueness and completeness of one delivery. */
  #place({ stream, seq }: Seen, frame: Frame): void {
    const at = this.#at.get(stream)!;
    const key = `${stream}:${seq}`;
    const first = !this.#mentioned.has(stream);
    this.#mentioned.add(stream);
    if (seq <= at) {
      if (this.#seen.has(key)) this.#violated('unique', `${key} came twice`, frame);
      else if (first && seq <= (this.#began.get(stream) ?? -1)) this.#violated('resumable', `${key} came again after a resume`, frame);
      else this.#violated('ordered', `${key} came after ${stream}:${at}`, frame);
    } else {
      const due = this.facts.log.due(this.subscriber, stream, at, seq - 1);
      if (due.length > 0) {
        const property = first && this.#began.has(stream) ? 'resumable' : 'gap-free';
        this.#violated(property, `${key} came, but ${range(due)} did not`, frame);
      }
      this.#at.set(stream, seq);
    }
    this.#seen.add(key);
  }

  /** An id promises that resuming there continues exactly: not ahead of what was delivered, not behind it. */
  #id(frame: Frame, own: Seen | undefined): void {
    const { subscriber, facts } = this;
    if (frame.id === undefined) return this.#violated('bookmarks true', 'a heartbeat without an id', frame);
    const vector = facts.positions.parse(frame.id, subscriber.city);
    if (vector === undefined) return this.#violated('resumable', `the id ${frame.id} is not a position`, frame);
    for (const [stream, seq] of vector) if (follows(subscriber, stream)) this.#claim(stream, seq, frame);
    if (own !== undefined && vector.get(own.stream) !== own.seq) {
      this.#violated('resumable', `the id of ${own.stream}:${own.seq} does not name it: ${frame.id}`, frame);
    }
    this.#unnamed(vector, frame);
    this.#ids++;
  }

  #claim(stream: string, seq: number, frame: Frame): void {
    if (!this.#at.has(stream)) this.#begin(stream, seq, seq);
    this.#named.add(stream);
    const at = this.#at.get(stream)!;
    const kind = frame.event === 'heartbeat' ? 'bookmarks true' : 'resumable';
    const due = this.facts.log.due(this.subscriber, stream, at, seq);
    if (due.length > 0) this.#violated(kind, `an id claims ${stream}:${seq}, but ${range(due)} did not come`, frame);
    // Back over what it does not want is harmless for an event's id; a bookmark never goes back.
    const back = seq < at && (frame.event === 'heartbeat' || this.facts.log.due(this.subscriber, stream, seq, at).length > 0);
    if (back) this.#violated(kind, `an id goes back from ${stream}:${at} to ${stream}:${seq}`, frame);
    this.#at.set(stream, Math.max(at, seq));
  }

  /** A stream of the feed that an id leaves out would be taken up at its head by whoever resumes there. */
  #unnamed(vector: Vector, frame: Frame): void {
    const { log } = this.facts;
    const since = vector.get(SUPERVISOR) ?? -1;
    for (const { name, joinedSupervisorSeq } of log.streams.values()) {
      if (vector.has(name) || !follows(this.subscriber, name) || log.left(name)) continue;
      const joined = log.joins(name).length === 1 && joinedSupervisorSeq < since;
      if (this.#named.has(name) || joined) this.#violated('resumable', `an id does not name ${name}: ${frame.id}`, frame);
    }
  }

  /** A stream is mentioned for the first time: at the open, or because it has joined the feed since. */
  #begin(stream: string, start: number, mentioned: number): void {
    const { log, acknowledged } = this.facts;
    // Of a stream that came and went, a position that does not name it cannot tell how much of it is due.
    if (this.#ids > 0 && (this.connection.resume.how === 'head' || !log.left(stream))) {
      const joins = log.joins(stream);
      const join = joins.includes(mentioned + 1) ? mentioned + 1 : joins.filter((seq) => seq <= mentioned).at(-1);
      if (join !== undefined && !log.gone(stream, mentioned)) return void this.#at.set(stream, join - 1);
    }
    this.#at.set(stream, start);
    if (this.#ids > 0) return;
    const { openedAt, sentAt } = this.connection;
    for (const write of acknowledged.get(stream) ?? []) {
      const row = log.row(stream, write.seq);
      if (row === undefined || !wants(this.subscriber, row)) continue;
      if (write.from > openedAt && write.seq <= start)
        this.#violated('reliable', `${stream}:${write.seq} was written after the open and skipped`, write);
      if (write.to < sentAt && write.seq > start && this.connection.resume.how === 'head') {
        this.#violated('resumable', `opened at the head, but began before ${stream}:${write.seq}, which was there`, write);
      }
    }
  }

  #violated(property: Parameters<Violations['add']>[0], message: string, ...entries: unknown[]): void {
    const { number, subscriber, replica, resume } = this.connection;
    this.facts.violations.add(property, `${subscriber} on ${replica}, connection ${number}: ${message}`, { resume }, ...entries);
  }
}

function identify(data: string, city: string | undefined): Seen | undefined {
  try {
    const { seq, stream: numbered } = JSON.parse(data) as { seq?: unknown; stream?: unknown };
    const stream = city ?? numbered;
    return typeof seq === 'number' && typeof stream === 'string' ? { stream, seq } : undefined;
  } catch {
    return undefined;
  }
}

function range(rows: readonly LogRow[]): string {
  const shown = rows.slice(0, 5).map((r) => `${r.stream}:${r.seq}`);
  return `${shown.join(', ')}${rows.length > 5 ? ` and ${rows.length - 5} more` : ''}`;
}
