import type { Exit, RuntimeEvent } from './port.js';

const MAX_EVENTS = 256;
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * What an agent has said and its one reader has not taken yet. It refuses nothing: whoever fills it looks at `isFull` and
 * waits for `room` before it reads more of the agent's output, so that a slow reader slows the agent down.
 */
export class EventQueue implements AsyncIterable<RuntimeEvent> {
  readonly #waiting: { event: RuntimeEvent; bytes: number }[] = [];
  #bytes = 0;
  #ended = false;
  #abandoned = false;
  /** The reader has an event in its hands. */
  #busy = false;
  #wakeReader: (() => void) | undefined;
  #wakeRoom: (() => void)[] = [];
  #wakeRead: (() => void)[] = [];

  get isFull(): boolean {
    return !this.#abandoned && (this.#waiting.length >= MAX_EVENTS || this.#bytes >= MAX_BYTES);
  }

  /** @param bytes about how much memory it holds. */
  push(event: RuntimeEvent, bytes = 0): void {
    if (this.#ended || this.#abandoned) return;
    const last = this.#waiting.at(-1);
    // An entry that nobody has seen yet need not be seen in every state that it had.
    if (event.type === 'entry' && last?.event.type === 'entry' && last.event.id === event.id) {
      this.#bytes += bytes - last.bytes;
      Object.assign(last, { event, bytes });
    } else {
      this.#waiting.push({ event, bytes });
      this.#bytes += bytes;
    }
    this.#wakeReader?.();
  }

  /** The last event; what is pushed after it is dropped. */
  end(exit: Exit): void {
    this.push({ type: 'exit', exit });
    this.#ended = true;
  }

  /** Resolves as soon as it is not full. */
  async room(): Promise<void> {
    while (this.isFull) await new Promise<void>((resolve) => this.#wakeRoom.push(resolve));
  }

  /** Resolves when the reader has come back for more after everything that is in it now, or will never come. */
  async allRead(): Promise<void> {
    while (!this.#abandoned && (this.#waiting.length > 0 || this.#busy)) await new Promise<void>((resolve) => this.#wakeRead.push(resolve));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RuntimeEvent, void, undefined> {
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next !== undefined) {
          this.#bytes -= next.bytes;
          if (!this.isFull) wake(this.#wakeRoom);
          this.#busy = true;
          yield next.event;
          this.#busy = false;
          if (next.event.type === 'exit') return;
        } else {
          wake(this.#wakeRead);
          await new Promise<void>((resolve) => (this.#wakeReader = resolve));
          this.#wakeReader = undefined;
        }
      }
    } finally {
      this.#abandoned = true;
      this.#waiting.length = 0;
      this.#bytes = 0;
      wake(this.#wakeRoom);
      wake(this.#wakeRead);
    }
  }
}

function wake(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
