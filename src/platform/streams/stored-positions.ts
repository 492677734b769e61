import type { PositionSeal } from './position-seal.js';
import { OpaquePosition, type CheckpointBase } from './positions.js';
import type { StreamLogRepository } from './stream-log.repository.js';

/** A chain of small rows hangs on one full row; short, so that resolving an id reads little. */
export const CHAIN_LENGTH = 64;
/** Positions count only from a chain younger than this: a chain is dropped 25 hours after its beginning, and every position is to be good for a day. */
export const STORED_BASE_MS = 60 * 60_000;
/** Stored positions that are remembered, each with all its streams. Several, as readers of other cities have others. */
const KEPT = 16;
/** Moved streams in a step of a chain: with more of them a row of all streams is hardly longer. */
const STEP_MOST = 512;

/** A chain of rows: each names the streams that have moved since the one before. */
interface Chain {
  readonly root: number;
  readonly at: number;
  readonly generation: number;
  steps: number;
  /** The last row. Undefined while the next one is being stored. */
  tip: Base | undefined;
}

/** The streams of a position that differ from another one. Undefined for more than `most`, or when the other has streams that this one has not. */
function movedFrom(from: ReadonlyMap<number, number>, vector: ReadonlyMap<number, number>, most: number): [number, number][] | undefined {
  const moved: [number, number][] = [];
  for (const [id, seq] of vector) {
    if (from.get(id) === seq) continue;
    if (moved.push([id, seq]) > most) return undefined;
  }
  for (const id of from.keys()) if (!vector.has(id)) return undefined;
  return moved;
}

/** A stored position. */
export class Base implements CheckpointBase {
  constructor(
    readonly id: number,
    readonly root: number,
    readonly seqs: ReadonlyMap<number, number>,
    readonly seal: PositionSeal,
    readonly chain?: Chain,
  ) {}
  seqOf(streamId: number): number {
    return this.seqs.get(streamId) ?? 0;
  }
  has(streamId: number): boolean {
    return this.seqs.has(streamId);
  }
}

/** A position that is being stored. */
interface Storing {
  readonly seqs: ReadonlyMap<number, number>;
  readonly base: Promise<Base>;
}

/** Positions that this process has stored for requests and replays, the newest first. */
export class StoredPositions {
  #kept: readonly Base[] = [];
  #storing = new Set<Storing>();
  #generation = 0;

  constructor(private readonly repository: StreamLogRepository) {}

  forget(): void {
    this.#kept = [];
    this.#storing = new Set();
    this.#generation++;
  }

  /**
   * The position as one that counts from a stored one, or from one that is just being stored, if at most `most` streams differ from that. `last`: the base that
   * the replay has counted from before.
   */
  near(vector: ReadonlyMap<number, number>, most: number, last?: CheckpointBase): OpaquePosition | Promise<OpaquePosition> | undefined {
    for (const base of this.#known(last)) {
      // Only the streams that differ: each id of a replay walks over all of them.
      const moved = movedFrom(base.seqs, vector, most);
      if (moved !== undefined) return new OpaquePosition(base, moved);
    }
    for (const { seqs, base } of this.#storing) {
      const moved = movedFrom(seqs, vector, most);
      if (moved !== undefined) return base.then((stored) => new OpaquePosition(stored, moved));
    }
    return undefined;
  }

  /**
   * Stores a row of all streams, or of those that have moved since the last row of a chain, as a replay moves a few with each of its parts. `whole` is called before
   * a row of all streams is stored.
   */
  async store(vector: ReadonlyMap<number, number>, last?: CheckpointBase, whole?: () => void): Promise<OpaquePosition> {
    const seqs = new Map(vector);
    const storing = { seqs, base: this.#insert(seqs, last, whole) };
    const all = this.#storing.add(storing);
    try {
      return new OpaquePosition(await storing.base, []);
    } finally {
      all.delete(storing);
    }
  }

  #insert(seqs: ReadonlyMap<number, number>, last: CheckpointBase | undefined, whole: (() => void) | undefined): Promise<Base> {
    for (const base of this.#known(last)) {
      const { chain } = base;
      if (chain?.tip !== base || chain.steps >= CHAIN_LENGTH) continue;
      const moved = movedFrom(base.seqs, seqs, STEP_MOST);
      if (moved !== undefined) return this.#step(chain, new Map(moved), seqs);
    }
    whole?.();
    return this.#root(seqs);
  }

  /** Stored positions that are young enough to count from. */
  *#known(last: CheckpointBase | undefined): Generator<Base> {
    for (const base of last instanceof Base ? [last, ...this.#kept] : this.#kept)
      if (base.chain?.generation === this.#generation && Date.now() - base.chain.at < STORED_BASE_MS) yield base;
  }

  async #root(seqs: ReadonlyMap<number, number>): Promise<Base> {
    const [at, generation] = [Date.now(), this.#generation];
    const root = await this.repository.insertCursor(undefined, seqs);
    return this.#keep({ root, at, generation, steps: 0, tip: undefined }, root, seqs);
  }

  /** A row of a chain is resolved by reading all rows before it. So no two are stored at once, and none after one that failed. */
  async #step(chain: Chain, moved: ReadonlyMap<number, number>, seqs: ReadonlyMap<number, number>): Promise<Base> {
    chain.tip = undefined;
    chain.steps++;
    return this.#keep(chain, await this.repository.insertCursor(chain.root, moved), seqs);
  }

  async #keep(chain: Chain, id: number, seqs: ReadonlyMap<number, number>): Promise<Base> {
    const base = new Base(id, chain.root, seqs, await this.repository.seal(), chain);
    chain.tip = base;
    // Not after `forget`: a primary that took over meanwhile may not have the row.
    if (chain.generation === this.#generation) this.#kept = [base, ...this.#kept].slice(0, KEPT);
    return base;
  }
}
