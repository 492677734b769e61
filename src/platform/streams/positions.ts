import { formatOpaque } from './cursor.js';
import type { PositionSeal } from './position-seal.js';

/** Up to this many streams the `id` of a supervisor frame is the composite cursor; above, it is opaque. */
export const COMPOSITE_LIMIT = 16;

/** A moving position that can be written as an event id. */
export interface Position {
  advance(streamId: number, seq: number): void;
  id(): string;
}

/** A position in composite form; only for few streams. They are given sorted by name in byte order. */
export class CompositePosition implements Position {
  readonly #seqs = new Map<number, number>();

  constructor(private readonly streams: readonly { readonly id: number; readonly name: string; readonly seq: number }[]) {
    for (const s of streams) this.#seqs.set(s.id, s.seq);
  }

  advance(streamId: number, seq: number): void {
    this.#seqs.set(streamId, seq);
  }

  id(): string {
    let text = '';
    for (const s of this.streams) text += `${text === '' ? '' : ','}${s.name}:${this.#seqs.get(s.id)!}`;
    return text;
  }
}

/** A stored cursor to count from. */
export interface CheckpointBase {
  readonly id: number;
  readonly seal: PositionSeal;
  seqOf(streamId: number): number;
  /** False for a stream that joined after it was stored. */
  has(streamId: number): boolean;
}

/** A position as a stored cursor and the streams that differ from it. */
export class OpaquePosition implements Position {
  readonly #moved: Map<number, number>;

  constructor(
    readonly base: CheckpointBase,
    moved: Iterable<readonly [streamId: number, seq: number]>,
  ) {
    this.#moved = new Map(moved);
  }

  advance(streamId: number, seq: number): void {
    this.#moved.set(streamId, seq);
  }

  id(): string {
    const moved: [number, number][] = [];
    for (const [streamId, seq] of this.#moved) {
      const distance = seq - this.base.seqOf(streamId);
      // A stream at 0 has to be named too: one that is not named is taken up at its head.
      if (distance !== 0 || !this.base.has(streamId)) moved.push([streamId, distance]);
    }
    return formatOpaque({ checkpoint: this.base.id, moved }, this.base.seal);
  }
}
