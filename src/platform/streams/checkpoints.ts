import type { Rate } from '../config/config.js';
import { Buckets } from '../http/buckets.js';
import { AppLogger } from '../logging/logger.js';
import { StreamPutOff } from './channel.js';
import { parseOpaque, placeOf } from './cursor.js';
import { OpaquePosition, type CheckpointBase } from './positions.js';
import { Base, CHAIN_LENGTH, STORED_BASE_MS, StoredPositions } from './stored-positions.js';
import { StreamLogRepository } from './stream-log.repository.js';
import { problem } from '../../contract/problems.js';

/** Streams that may differ from the checkpoint before a new one is worth a row. */
const MOVED_LIMIT = 16;
/** Moved streams that are remembered while there is no base: those that moved last. Up to twice as many before they are cut back. */
export const MOST_UNSTORED = 1_024;
/** Between two rows. */
const MIN_INTERVAL_MS = 250;
/** The longest time that a chain grows. */
const CHAIN_MS = 10 * 60_000;
/** A base of this age is stored anew even if few streams have moved: rows are dropped after a day, however new the ids that count from them. */
const RENEW_MS = 30 * 60_000;

/** How many streams may differ from what a page token counts from. */
const TOKEN_MOVED_LIMIT = 256;
/** Rows that this process stores for requests of one key. A row grows with the number of cities. */
export const OWN_RATE: Rate = { perSecond: 60 / 3_600, burst: 60 };
/**
 * Rows that it stores for replays of one key: all streams that a key may have can come back twice at once, each from a position of its own. A row of 3,000 cities has
 * 36 KB and is kept for a day, so further replays are put off.
 */
export const rateOfReplays = (streams: number): Rate => ({ perSecond: 1, burst: 2 * streams });

/** The position of a stream, with its name: ids go on naming a stream that has left, but only to readers that may see it. */
interface Moved {
  readonly name: string;
  readonly seq: number;
}

/** The positions that an opaque id stands for, and the base that it counts from, if later ids may count from that, too. */
export interface Resolved {
  readonly positions: Map<number, number>;
  readonly base: CheckpointBase | undefined;
}

/**
 * Stored positions of this process's hub, so that with many cities an event id stays short and any replica can
 * resolve it. A new row at most every 250 ms, and only while events flow.
 */
export class Checkpoints {
  #base: Base | undefined;
  #steps = 0;
  #generation = 0;
  /** Milliseconds since 1970, and not a monotonic clock: rows age also while this process is suspended. */
  #rootAt = 0;
  #writtenAt = 0;
  #writing: Promise<void> | undefined;
  /** Streams beyond the base, and those that moved while the next base is being written. */
  #moved = new Map<number, Moved>();
  #movedMeanwhile = new Map<number, Moved>();
  readonly #stored: StoredPositions;
  readonly #shares = new Buckets();
  readonly #replays = new Buckets();

  constructor(
    private readonly repository: StreamLogRepository,
    private readonly log: AppLogger,
    private readonly vector: () => Map<number, number>,
    private readonly replayRate = rateOfReplays(5_000),
  ) {
    this.#stored = new StoredPositions(repository);
  }

  get ready(): boolean {
    return this.#base !== undefined;
  }

  advance({ id, name }: { readonly id: number; readonly name: string }, seq: number): void {
    if (this.#writing !== undefined) this.#movedMeanwhile.set(id, { name, seq });
    if (this.#base === undefined) return this.#keep(id, { name, seq });
    this.#moved.set(id, { name, seq });
    if (this.#writing === undefined && this.#moved.size > MOVED_LIMIT && performance.now() - this.#writtenAt > this.#interval())
      this.#writing = this.#step();
  }

  /** Moves the position of a stream that has left and appended since. Ids that do not name the stream still do not. */
  correct(stream: { readonly id: number; readonly name: string }, seq: number): void {
    const { id, name } = stream;
    const known = this.#moved.get(id)?.seq ?? this.#base?.seqs.get(id);
    if (known !== undefined && known < seq) this.advance(stream, seq);
    else if (known === undefined && this.#movedMeanwhile.has(id)) this.#movedMeanwhile.set(id, { name, seq });
  }

  /** Remembers a position for the next base, which names the stream also when it has left by then. */
  #keep(id: number, moved: Moved): void {
    this.#moved.delete(id);
    this.#moved.set(id, moved);
    if (this.#moved.size > 2 * MOST_UNSTORED) this.#moved = new Map([...this.#moved].slice(-MOST_UNSTORED));
  }

  /** Drops the base and all positions, which are of an epoch that has ended. A row that is being written is not used. */
  forget(): void {
    this.#base = undefined;
    this.#stored.forget();
    this.#moved = new Map();
    this.#movedMeanwhile = new Map();
    this.#generation++;
  }

  /** Drops the base, so that the next one has the positions of all streams by then. Moved streams are kept, since ids go on naming those that have left. */
  restart(): void {
    this.#base = undefined;
    this.#generation++;
  }

  /** Stores the first base. Called before the first subscriber that needs one; until then ids are composite. */
  async prepare(): Promise<void> {
    if (this.#base !== undefined) return;
    await this.#writing;
    // What was being written may have failed, or been dropped by `forget` or `restart` meanwhile.
    if (this.#base !== undefined) return;
    this.#writing ??= this.#root();
    await this.#writing;
  }

  /** Called every few minutes. */
  async renew(): Promise<void> {
    if (this.#base === undefined || this.#writing !== undefined || Date.now() - this.#rootAt < RENEW_MS) return;
    this.#writing = this.#root();
    await this.#writing;
  }

  /** A position at the hub's own place, with some streams elsewhere. Undefined while there is no base. */
  position(elsewhere: ReadonlyMap<number, number>, visible: (stream: string) => boolean): OpaquePosition | undefined {
    const base = this.#base;
    if (base === undefined) return undefined;
    const moved = new Map<number, number>();
    for (const [id, { name, seq }] of this.#moved) if (visible(name)) moved.set(id, seq);
    for (const [id, seq] of elsewhere) moved.set(id, seq);
    return new OpaquePosition(base, moved);
  }

  /**
   * A position for a replay that is far from the hub's place. It counts from a stored position if up to `most` streams differ from that. Otherwise it is
   * stored, as the difference from the position of the replay's part before (`last`), where there is one. The limit for a key (`rateOfReplays`) is high: a replay
   * that waited for its row would be silent meanwhile, and would read the log again and again. Rows are dropped after a day.
   *
   * @throws StreamPutOff
   */
  async ofReplay(vector: ReadonlyMap<number, number>, most: number, last?: CheckpointBase, key?: string): Promise<OpaquePosition> {
    return this.#stored.near(vector, most, last) ?? this.#storeFor(vector, last, key);
  }

  /**
   * Charges the key for the first row of a replay, and for each later row that names all streams. A replay that has begun is never put off: its later rows are
   * charged as a debt, which puts off replays that begin after it. A row that failed is given back, as it is tried again.
   */
  async #storeFor(vector: ReadonlyMap<number, number>, last: CheckpointBase | undefined, key = ''): Promise<OpaquePosition> {
    let took = last === undefined;
    if (took && this.#replays.take(key, this.replayRate) > 0) throw new StreamPutOff('the key has had its share stored');
    const whole = (): void => {
      if (last !== undefined) this.#replays.owe(key, this.replayRate);
      took = true;
    };
    try {
      return await this.#stored.store(vector, last, whole);
    } catch (error) {
      if (took) this.#replays.put(key, this.replayRate);
      throw error;
    }
  }

  /**
   * A position for the answer to a request. When the key has had its share of rows, it counts from any stored position, which takes some bytes for each city that
   * moved. Undefined without one: the caller then names the cities, which is longer yet.
   */
  async ownOf(key: string | undefined, vector: ReadonlyMap<number, number>): Promise<OpaquePosition | undefined> {
    const near = this.#stored.near(vector, TOKEN_MOVED_LIMIT);
    if (near !== undefined) return near;
    return this.#shares.take(key ?? '', OWN_RATE) > 0 ? this.#stored.near(vector, Infinity) : this.#stored.store(vector);
  }

  /**
   * A position after `from`. It counts from the same base where it is near enough; otherwise as `ownOf`. All streams that `from` names
   * stay named: a stream whose events were all told is not in `vector`, and would fall back to where the base has it.
   */
  async after(key: string | undefined, from: Resolved, vector: ReadonlyMap<number, number>): Promise<OpaquePosition | undefined> {
    const { positions, base } = from;
    if (base === undefined) return this.ownOf(key, vector);
    const all = new Map([...positions, ...vector]);
    let moved = 0;
    for (const [id, seq] of all) if (seq !== base.seqOf(id) || !base.has(id)) moved++;
    const own = moved > TOKEN_MOVED_LIMIT ? await this.ownOf(key, vector) : undefined;
    return own ?? new OpaquePosition(base, all);
  }

  /** The positions an opaque id stands for. @throws 400 invalid_cursor, 410 cursor_expired. */
  async resolve(value: string, what: string): Promise<Map<number, number>> {
    return (await this.resolved(value, what)).positions;
  }

  /** As `resolve`, with the base for the next position; without one when that is dropped soon. */
  async resolved(value: string, what: string): Promise<Resolved> {
    const seal = await this.repository.seal();
    const cursor = parseOpaque(value, what, seal);
    const chain = await this.repository.cursorChain(cursor.checkpoint);
    if (chain.length === 0) {
      throw problem('cursor_expired', `${what} is too old to be resolved; the oldest position is now the head, list the events you miss`);
    }
    const positions = new Map<number, number>();
    for (const row of chain) row.stream_ids.forEach((id, i) => positions.set(id, row.seqs[i]!));
    const isNew = chain[0]!.age_ms < STORED_BASE_MS;
    const base = isNew ? new Base(cursor.checkpoint, cursor.checkpoint, new Map(positions), seal) : undefined;
    for (const [id, distance] of cursor.moved) {
      const seq = (positions.get(id) ?? 0) + distance;
      if (seq < 0) throw problem('invalid_cursor', `${what} is not a position`, { at: placeOf(what) });
      positions.set(id, seq);
    }
    return { positions, base };
  }

  #interval(): number {
    return Math.max(MIN_INTERVAL_MS, (this.#base?.seqs.size ?? 0) / 10);
  }

  async #step(): Promise<void> {
    const base = this.#base!;
    if (this.#steps >= CHAIN_LENGTH || Date.now() - this.#rootAt > CHAIN_MS) return this.#root();
    const moved = new Map([...this.#moved].map(([id, { seq }]) => [id, seq]));
    await this.#write(async () => {
      const id = await this.repository.insertCursor(base.root, moved);
      const seqs = new Map(base.seqs);
      for (const [stream, seq] of moved) seqs.set(stream, seq);
      this.#steps++;
      return new Base(id, base.root, seqs, base.seal);
    });
  }

  async #root(): Promise<void> {
    const vector = new Map([...this.#moved].map(([id, { seq }]) => [id, seq]));
    for (const [id, seq] of this.vector()) vector.set(id, seq);
    this.#movedMeanwhile = new Map();
    await this.#write(async () => {
      const id = await this.repository.insertCursor(undefined, vector);
      const seal = await this.repository.seal();
      this.#steps = 0;
      this.#rootAt = Date.now();
      return new Base(id, id, vector, seal);
    });
  }

  async #write(make: () => Promise<Base>): Promise<void> {
    this.#movedMeanwhile = new Map();
    const generation = this.#generation;
    try {
      const base = await make();
      if (generation !== this.#generation) return;
      // Includes streams that moved and left meanwhile, which the vector does not have.
      this.#moved = this.#movedMeanwhile;
      this.#base = base;
    } catch (error) {
      this.log.debug({ err: error }, 'a stream cursor could not be stored');
    } finally {
      this.#writtenAt = performance.now();
      this.#writing = undefined;
    }
  }
}
