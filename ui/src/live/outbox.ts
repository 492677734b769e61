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
  /** Which of all that were sent it is. */
  readonly turn: number;
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

/** As one text. */
const joined = (parts: readonly string[]): string => parts.filter((part) => part.trim() !== '').join('\n\n');
const inTurn = (sent: readonly Sent[]): string[] => [...sent].sort((a, b) => a.turn - b.turn).map(({ text }) => text);

/** What was written and sent, by session: it outlives the view in which it was, also where it is refused after that was left. */
export class Outbox {
  readonly #all = new Map<string, Outgoing>();
  readonly #wishes = new Map<string, Wishes>();
  readonly #underWay = new Map<string, Promise<unknown>>();
  /** What was refused, and the text begins with unless somebody has changed that since. */
  readonly #back = new Map<string, readonly Sent[]>();
  readonly #kept = new Map<string, string>();
  #turn = 0;
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
    const sent: Sent = { key: newKey(), text: wish.message, turn: ++this.#turn };
    const before = this.of(name);
    this.#set(name, { text: '', error: undefined, waiting: [...before.waiting, sent] });
    try {
      const answer = await this.#wishesOf(name).send(wish, by);
      this.#arrived(name, sent);
      await accepted(answer);
    } catch (error) {
      // What was not taken is not lost: it stands before what was sent later, and what was written since.
      const { back, rest } = this.#parts(name);
      this.#back.set(name, [...back, sent]);
      const text = joined([...inTurn([...back, sent]), rest]);
      this.#set(name, { text, waiting: this.of(name).waiting.filter((one) => one !== sent), error });
    }
  }

  /**
   * Sends what is written, which stays until the service has taken it. Whoever sends it again before that, also from a view that was left
   * and opened again, waits for the same end.
   */
  deliver(name: string, to: string, by: (key: string, text: string) => Promise<unknown>): Promise<unknown> {
    const before = this.#underWay.get(name);
    if (before !== undefined) return before;
    const { text } = this.of(name);
    const done = this.#wishesOf(name)
      .send([to, text], (key) => by(key, text))
      .then(() => {
        // What was typed meanwhile is not sent yet.
        if (this.of(name).text === text) this.write(name, '');
      })
      .finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, done);
    return done;
  }

  /** What the text begins with that was sent before, and the rest of it. */
  #parts(name: string): { readonly back: readonly Sent[]; readonly rest: string } {
    const { text } = this.of(name);
    const back = this.#back.get(name) ?? [];
    const begin = joined(inTurn(back));
    if (text === begin) return { back, rest: '' };
    if (back.length > 0 && text.startsWith(`${begin}\n\n`)) return { back, rest: text.slice(begin.length + 2) };
    return { back: [], rest: text };
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
    this.#all.set(name, next);
    // What the service has not answered is lost with the page otherwise; what it has, it shows itself.
    const { back, rest } = this.#parts(name);
    const kept = joined([...inTurn([...back, ...next.waiting]), rest]);
    if (kept !== this.#kept.get(name)) this.around.keep(name, kept);
    this.#kept.set(name, kept);
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
