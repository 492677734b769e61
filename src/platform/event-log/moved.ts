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
 * and the hub wakes at once. Only a hint: listeners also poll.
 */
@Injectable()
export class MovedStreams {
  readonly #listeners = new Set<Listener>();

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  mark(moved: readonly Moved[]): void {
    // The listeners work for all requests: that counts for the process, and waits for no request's turn.
    if (moved.length > 0) workFor(undefined, () => this.#listeners.forEach((listener) => listener(moved)));
  }
}
