import { telling } from '../api.js';
import { showDuration } from '../duration.js';
import { CliError, InterruptedError, oneLine } from '../errors.js';
import { plain } from '../table.js';
import { ConversationView } from '../sessions/conversation-view.js';
import type { Key, Listener, Terminal } from '../terminal.js';
import { orAborted, sleep } from '../../client/sleep.js';
import type { Question } from '../../client/turns.js';
import type { Attaching } from './attaching.js';
import { Editor, type Wish } from './editor.js';
import { Screen, type Bottom } from './screen.js';
import { Standing } from './standing.js';
import { leavingMs, Talk } from './talk.js';

/** A conversation at a terminal, until the person leaves or the session is closed. */
export async function attachTerminal(attaching: Attaching, terminal: Terminal): Promise<void> {
  const attached = new Attached(attaching, terminal);
  const stop = terminal.listen(attached);
  let end = '';
  try {
    end = await attached.run();
  } finally {
    await attached.screen.end();
    stop();
  }
  await attaching.io.out(end);
}

/** What is typed under a question. */
function keysOf({ choices = [] }: Question): string {
  if (choices.length === 0) return '  type the answer\n';
  const keys = choices.length === 1 ? '1' : `1-${Math.min(choices.length, 9)}`;
  return `  answer with ${choices.length > 9 ? 'a number' : `a key: ${keys}`}, or type a word of it\n`;
}

/** A digit answers at once what is asked. */
function digitOf({ text = '', ctrl, alt }: Key, question: Question | undefined): string | undefined {
  const choices = question?.choices?.length ?? 0;
  return choices > 9 || ctrl || alt || !/^[1-9]$/.test(text) || Number(text) > choices ? undefined : text;
}

class Attached implements Listener {
  readonly screen: Screen;
  readonly #view: ConversationView;
  readonly #editor = new Editor();
  readonly #standing: Standing;
  readonly #left = new AbortController();
  readonly #failed = new AbortController();
  readonly #givenUp = new AbortController();
  readonly #signal: AbortSignal;
  #talk: Talk;
  /** What keys have asked for is done in their order. */
  #doing: Promise<void> = Promise.resolve();
  /** How much of what is to be delivered is not yet. */
  #undone = 0;
  /** The conversation is over, and what was typed before is still done. */
  #ending = false;
  #over = (): void => undefined;
  readonly #isOver = new Promise<void>((resolve) => (this.#over = resolve));
  /** Whether something of that was not. */
  #lost = false;
  #made: ((id: string) => void) | undefined;
  #closed = false;
  #failure: Error | undefined;

  constructor(
    private readonly attaching: Attaching,
    private readonly terminal: Terminal,
  ) {
    const { io, api, city, name, session, thinking, tail } = attaching;
    this.#signal = AbortSignal.any([io.signal, this.#left.signal, this.#failed.signal]);
    this.#view = new ConversationView({
      colour: io.colour,
      get width() {
        return terminal.columns;
      },
      thinking,
      tail,
      turns: false,
      hint: keysOf,
    });
    this.#standing = new Standing(api, city, name, session);
    const bottom = (): Bottom => ({
      status:
        this.#ending && this.#undone > 0
          ? 'what was typed is still sent · Ctrl-D gives it up'
          : this.#standing.line(this.#view.activity, this.#view.question !== undefined),
      text: this.#editor.text,
      at: this.#editor.at,
    });
    this.screen = new Screen((text) => io.out(text), terminal, bottom, io.colour);
    this.#talk = this.#talkTo(session?.id ?? name);
  }

  /** What is to be said at the end. @throws CliError, InterruptedError */
  async run(): Promise<string> {
    const { io, path, name } = this.attaching;
    this.screen.redraw();
    let id: string | undefined;
    try {
      id = await this.#converse();
    } finally {
      await this.#sendRest();
    }
    if (io.signal.aborted) throw new InterruptedError();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#lost) throw new CliError('not everything that was typed was sent');
    return this.#closed ? '-- the session is closed\n' : `-- it goes on without you: ${path} ${plain(id ?? name)}\n`;
  }

  /** The conversation, to its end: the id of the session, once there is one. */
  async #converse(): Promise<string | undefined> {
    const { api, city, session, thinking } = this.attaching;
    const id = session?.id ?? (await this.#firstMessage());
    if (id === undefined) return undefined;
    if (session === undefined) this.#talk = this.#talkTo(id);
    const watching = this.#standing.watch(
      id,
      this.#signal,
      () => this.screen.redraw(),
      (why) => this.#note(why),
    );
    try {
      const onPause = (ms: number, why: string): void => this.#pause(ms, why);
      const onResume = (): void => this.#resume();
      const following = api.client.session(city, id).follow({ thinking, signal: this.#signal, onPause, onResume });
      for await (const frame of telling(api, following)) {
        if (frame.event !== 'heartbeat' && frame.event !== 'structured') this.#standing.soon();
        await this.screen.print(this.#view.frame(frame));
        this.screen.redraw();
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      const over = !this.#signal.aborted;
      if (over) this.#failed.abort();
      await watching;
      if (over) this.#closed = true;
    }
    return id;
  }

  /** Whoever leaves has sent what he has typed: it is waited for, also while the service is away, unless he gives it up. */
  async #sendRest(): Promise<void> {
    if (this.#failure !== undefined) return;
    this.#ending = true;
    this.#over();
    this.screen.redraw();
    const { signal } = this.attaching.io;
    const givenUp = AbortSignal.any([signal, this.#givenUp.signal]);
    await orAborted(this.#doing, givenUp).catch(() => undefined);
    if (this.#undone === 0 || signal.aborted) return;
    this.#lost = true;
    this.#note(`${this.#undone === 1 ? 'a line that was' : `${this.#undone} lines that were`} typed may not have been sent`);
  }

  key(key: Key): void {
    if (this.#ending) {
      if (key.ctrl && ['c', 'd'].includes(key.name ?? '')) this.#givenUp.abort();
      return;
    }
    // What is typed answers the question that was there, not one that comes before it is sent.
    const { question } = this.#view;
    const digit = this.#editor.empty ? digitOf(key, question) : undefined;
    const wish = digit === undefined ? this.#editor.key(key) : { send: digit };
    if (wish !== undefined) this.#wish(wish, question);
    this.screen.redraw();
  }

  resized(): void {
    this.screen.redraw();
  }

  gone(): void {
    this.#left.abort();
  }

  #wish(wish: Wish, question: Question | undefined): void {
    if (wish === 'leave') return this.#left.abort();
    if (wish === 'draw') return void this.screen.clear();
    if (wish !== 'interrupt') return this.#do(() => this.#talk.typed(wish.send, question), leavingMs(wish.send));
    if (this.#view.activity === 'in-turn') return this.#do(() => this.#talk.stop(), leavingMs('/stop'));
    this.#note('nothing is under way; Ctrl-D leaves the session to itself');
  }

  /** What is refused is told, and the conversation goes on. Who has left waits so long for what delivers nothing, and loses nothing by it. */
  #do(work: () => Promise<void>, waitMs?: number): void {
    const delivers = waitMs === undefined;
    if (delivers) this.#undone++;
    this.#doing = this.#doing
      .then(() => (delivers ? work() : Promise.race([work(), this.#isOver.then(() => sleep(waitMs, this.#givenUp.signal))])))
      .catch((error: unknown) => {
        if (this.attaching.io.signal.aborted || this.#givenUp.signal.aborted) return;
        if (error instanceof CliError) {
          // Who has left cannot say it again.
          if (this.#ending && delivers) this.#lost = true;
          return this.#note(oneLine(error.message));
        }
        this.#failure = error as Error;
        this.#failed.abort();
      })
      .finally(() => {
        if (delivers) this.#undone--;
      });
  }

  #note(text: string): void {
    void this.screen.print(this.#view.note(plain(text)));
  }

  #pause(ms: number, why: string): void {
    if (why === 'the stream ended') return;
    this.#standing.paused(`no connection, again in ${showDuration(ms)}: ${plain(oneLine(why))}`);
    this.screen.redraw();
  }

  #resume(): void {
    this.#standing.paused();
    this.screen.redraw();
  }

  #firstMessage(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#made = resolve;
      this.#signal.addEventListener('abort', () => resolve(undefined), { once: true });
      if (this.#signal.aborted) resolve(undefined);
    });
  }

  #talkTo(session: string): Talk {
    const { api, city, io } = this.attaching;
    const { terminal } = this;
    const size = {
      get width() {
        return terminal.columns;
      },
      colour: io.colour,
    };
    return new Talk({
      api,
      city,
      session,
      size,
      say: (text) => void this.screen.print(this.#view.fresh() + text),
      note: (text) => this.#note(text),
      leave: () => this.#left.abort(),
      sent: (accepted) => {
        this.#standing.sent(accepted);
        this.#made?.(accepted.session_id ?? session);
      },
    });
  }
}
