import { Injectable } from '@nestjs/common';
import { workFor } from '../turns/working.js';

/** A stream and the head it has reached. */
export interface Moved {
  readonly stream: string;
  readonly head: number;
}
type Listener = (moved: readonly Moved[]) => void;

/**
 * Tells this process which streams its own commits have moved. The notifier passes it on to other processes
 * and the hub wakes at once. Only a hint: whoever listens also polls.
 */
@Injectable()
export class MovedStreams {
  readonly #listeners = new Set<Listener>();

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  mark(moved: readonly Moved[]): void {
    // What they set going is for everybody, and waits for nobody's turn.
    if (moved.length > 0) workFor(undefined, () => this.#listeners.forEach((listener) => listener(moved)));
  }
}
