import { createHash } from 'node:crypto';
import type { EventQueue } from '../event-queue.js';
import type { Dialog } from './dialogs.js';

/** Dialogs of which it is known how often they were shown. */
const MAX_ASKED = 1_000;

/** A dialog that somebody was told of. */
export interface OpenDialog extends Dialog {
  readonly requestId: string;
}

/** Tells of the dialog that a screen at rest shows, and of its end. The same one shown again is another question. */
export class AskedDialogs {
  readonly #asked = new Map<string, number>();
  #open: OpenDialog | undefined;

  constructor(
    private readonly queue: EventQueue,
    /** Tells interactions of this process from those of others of the session. */
    private readonly incarnation: string,
  ) {}

  get open(): OpenDialog | undefined {
    return this.#open;
  }

  /** What the screen shows now, if it shows one. */
  shows(found: Dialog | undefined): void {
    if (found?.hash === this.#open?.hash) return;
    this.close();
    if (found !== undefined) this.#ask(found);
  }

  close(): void {
    const { requestId } = this.#open ?? {};
    this.#open = undefined;
    if (requestId !== undefined) this.queue.push({ type: 'interaction_cleared', requestId });
  }

  #ask(found: Dialog): void {
    const times = (this.#asked.get(found.hash) ?? 0) + 1;
    this.#asked.delete(found.hash);
    this.#asked.set(found.hash, times);
    if (this.#asked.size > MAX_ASKED) this.#asked.delete(this.#asked.keys().next().value!);
    const id = createHash('sha256').update([this.incarnation, found.hash, times].join('\n')).digest('hex');
    const requestId = `pty-${id.slice(0, 16)}`;
    this.#open = { ...found, requestId };
    this.queue.push({
      type: 'interaction',
      requestId,
      kind: found.isKnown ? 'approval' : 'dialog',
      prompt: found.prompt,
      // What cannot be answered offers no answers.
      options: found.isKnown ? found.options.map(({ id, label, kind }) => ({ id, label, kind })) : [],
      metadata: { source: 'pty', answerable: String(found.isKnown) },
    });
  }
}
