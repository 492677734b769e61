import type { Schemas } from '../api/types.js';
import { newKey, Wishes } from '../lib/wishes.js';

/** What somebody writes to one session: a draft, messages on their way, and why the last one was refused. */
export interface Outgoing {
  readonly text: string;
  readonly waiting: readonly Sent[];
  readonly error: unknown;
}
export interface Sent {
  readonly key: string;
  readonly text: string;
}
export interface Wish {
  readonly message: string;
  readonly intent: Schemas['SubmitIntent'];
}

/** What the composers of a tab need of their surroundings; tests have their own. */
interface Around {
  readonly read: (name: string) => string;
  readonly keep: (name: string, text: string) => void;
}

/** What was written and sent, by session: it outlives the view in which it was, also where it is refused after that was left. */
export class Outbox {
  readonly #all = new Map<string, Outgoing>();
  readonly #wishes = new Map<string, Wishes>();
  readonly #listeners = new Set<() => void>();

  constructor(private readonly around: Around) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  of(name: string): Outgoing {
    let found = this.#all.get(name);
    if (found === undefined) this.#all.set(name, (found = { text: this.around.read(name), waiting: [], error: undefined }));
    return found;
  }

  write(name: string, text: string): void {
    this.#set(name, { ...this.of(name), text });
  }

  /**
   * Sends what is written. `by` gives the wish to the service, and `accepted` is told what that answers and waits for its end.
   * @param accepted rejects with why it was refused after all.
   */
  async send<T>(name: string, wish: Wish, by: (key: string) => Promise<T>, accepted: (answer: T) => Promise<void>): Promise<void> {
    const sent: Sent = { key: newKey(), text: wish.message };
    const before = this.of(name);
    this.#set(name, { text: '', error: undefined, waiting: [...before.waiting, sent] });
    try {
      const answer = await this.#wishesOf(name).send(wish, by);
      this.#arrived(name, sent);
      await accepted(answer);
    } catch (error) {
      // What was not taken is not lost: it stands before what was written since.
      const { text, waiting } = this.of(name);
      this.#set(name, { text: text.trim() === '' ? sent.text : `${sent.text}\n\n${text}`, waiting, error });
    } finally {
      this.#arrived(name, sent);
    }
  }

  #wishesOf(name: string): Wishes {
    const wishes = this.#wishes.get(name) ?? new Wishes();
    this.#wishes.set(name, wishes);
    return wishes;
  }

  #arrived(name: string, sent: Sent): void {
    const now = this.of(name);
    if (now.waiting.includes(sent)) this.#set(name, { ...now, waiting: now.waiting.filter((one) => one !== sent) });
  }

  #set(name: string, next: Outgoing): void {
    if (next.text !== this.#all.get(name)?.text) this.around.keep(name, next.text);
    this.#all.set(name, next);
    for (const tell of this.#listeners) tell();
  }
}

/** Of this tab: drafts are there again after a reload. */
export const outbox = new Outbox({
  read: (name) => {
    try {
      return sessionStorage.getItem(name) ?? '';
    } catch {
      return '';
    }
  },
  keep: (name, text) => {
    try {
      if (text === '') sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, text);
    } catch {
      // Then it is lost with the page.
    }
  },
});
