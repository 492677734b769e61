import type { Clock } from '../../time/clock.js';
import { chooseOption } from '../answers.js';
import { EventQueue } from '../event-queue.js';
import { causeOfExit } from '../failures.js';
import { PromptError, type Exit, type InteractionAnswer, type RunningAgent, type RuntimeCapabilities, type TurnEnd } from '../port.js';
import type { Grown } from '../screen/growth.js';
import { TurnText } from '../screen/turn-text.js';
import { AskedDialogs } from './asked-dialogs.js';
import type { Console } from './console.js';
import { findDialog, showsInput, type Dialog } from './dialogs.js';
import { COMMAND, CONTROL_C, type Family } from './families.js';
import type { PtyTiming } from './timing.js';
import { type } from './typing.js';

/** What the screen shows in a turn, or between two of them. */
interface Shown {
  readonly text: TurnText;
  readonly follower: { look(): Grown };
}

interface Turn {
  cancelled: boolean;
  /** It ends without a key: nobody knows what a key would do. */
  abandoned: boolean;
  /** The program has taken a part of the message only. */
  cutOff: boolean;
}

/** Lines at the bottom in which programs say that they are working. */
const STATUS_LINES = 12;

/** An agent behind a terminal: what it does is read from its screen, and guessed where the screen does not say it. */
export class PtyAgent implements RunningAgent {
  readonly sessionKey = undefined;
  readonly continued = 'new';
  readonly capabilities: RuntimeCapabilities = { resume: false, interactions: true, interrupt: true, options: [] };
  readonly exit: Promise<Exit>;
  readonly #queue = new EventQueue();
  readonly #gone = new AbortController();
  readonly #dialogs: AskedDialogs;
  #text = '';
  #changedAt: number;
  #shown: Shown;
  #turn: Turn | undefined;
  #turns = 0;
  #done = false;
  #stopping = false;
  #clearFirst = false;

  constructor(
    private readonly console: Console,
    private readonly family: Family,
    private readonly readyPrefix: string | undefined,
    /** Tells interactions of this process from those of others of the session. */
    incarnation: string,
    private readonly timing: PtyTiming,
    private readonly clock: Clock,
  ) {
    this.#changedAt = clock.monotonic();
    this.#dialogs = new AskedDialogs(this.#queue, incarnation);
    this.#shown = this.#follow('before');
    console.onDrawn(() => this.#look());
    this.exit = this.#watch();
  }

  get pid(): number {
    return this.console.pid;
  }

  get events(): EventQueue {
    return this.#queue;
  }

  get hasEnded(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Nothing but a command ends to say that it is done: a program with an input line has lost its conversation. */
  get hasFinished(): boolean {
    return this.#done;
  }

  /** It is not known how it shows that it waits for input, or whether it reads any. */
  get isCommand(): boolean {
    return this.family === COMMAND && (this.readyPrefix ?? '').trim() === '';
  }

  /** The dialog on the screen, when the screen is at rest. */
  get dialog(): Dialog | undefined {
    return this.#dialogs.open;
  }

  /** Milliseconds since something on the screen has changed. */
  get quiet(): number {
    return this.clock.monotonic() - this.#changedAt;
  }

  get showsInput(): boolean {
    return showsInput(this.#lines, this.readyPrefix);
  }

  get lastWords(): string {
    return this.console.lastWords;
  }

  async prompt(text: string, onAccepted: () => void): Promise<TurnEnd> {
    if (this.#turn !== undefined) throw new PromptError('refused', 'a turn is under way');
    const isFirst = ++this.#turns === 1;
    if (this.hasEnded && !(isFirst && this.hasFinished)) throw new PromptError('died', 'the agent has ended');
    const turn = (this.#turn = { cancelled: false, abandoned: false, cutOff: false });
    let accepted = false;
    const accept = (): void => {
      accepted = true;
      onAccepted();
    };
    try {
      if (!this.hasEnded) await this.#turnOf(turn, text, accept);
    } catch (error) {
      // What it was asked second and had not even been sent, nobody can have done.
      if (!this.hasFinished || !(isFirst || accepted)) throw error;
    } finally {
      this.#endShown();
      this.#shown = this.#follow(`after-${this.#turns}`);
      this.#clearFirst = turn.cancelled || turn.cutOff;
      this.#turn = undefined;
      await this.#queue.allRead();
    }
    if (!accepted) onAccepted();
    return { stopReason: turn.cancelled ? 'cancelled' : 'end_turn' };
  }

  async #turnOf(turn: Turn, text: string, accept: () => void): Promise<void> {
    this.#endShown();
    this.#shown = this.#follow(`turn-${this.#turns}`);
    await this.#begin(turn, text);
    accept();
    await this.#until(() => turn.abandoned || this.#isIdle);
    if (this.#limitReached) throw new PromptError('rate_limited', 'the account has used up what it may');
  }

  async cancel(): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined) return;
    turn.cancelled = true;
    if (this.#dialogs.open?.isKnown === false) {
      turn.abandoned = true;
      return;
    }
    const { softMs, cancelMs } = this.timing;
    const over = (): boolean => this.#turn !== turn || this.hasEnded || this.#isInterrupted;
    this.console.press(this.family.interrupt);
    if (await this.#wait(over, softMs)) return;
    if (this.family.interrupt !== CONTROL_C) this.console.press(CONTROL_C);
    await this.#wait(over, cancelMs - softMs);
  }

  async respond(requestId: string, { action }: InteractionAnswer): Promise<boolean> {
    const dialog = this.#dialogs.open;
    if (dialog === undefined || dialog.requestId !== requestId || !dialog.isKnown) return false;
    const chosen = chooseOption(dialog.options, action);
    if (chosen === undefined) return false;
    this.console.press(dialog.options.find(({ id }) => id === chosen)?.key ?? this.family.interrupt);
    // What is still there has not taken the answer: it is asked again, under another id.
    if (!(await this.#wait(() => this.#dialogs.open !== dialog, this.timing.answerMs))) this.#dialogs.close();
    return true;
  }

  async setOption(): Promise<boolean> {
    return false;
  }

  async peek(lines: number): Promise<string> {
    return this.console.screen.tail(lines).join('\n');
  }

  async stop({ hard = false }: { readonly hard?: boolean } = {}): Promise<Exit> {
    this.#stopping ||= !this.hasEnded;
    if (!hard) await this.cancel();
    await this.console.end({ hard });
    return this.exit;
  }

  /** Looks again when a screen on which nothing happens says something by that; false when the time is over. */
  async #wait(condition: () => boolean, ms: number): Promise<boolean> {
    const limit = this.clock.monotonic() + ms;
    for (;;) {
      this.#rest();
      if (condition()) return true;
      const left = limit - this.clock.monotonic();
      if (left <= 0) return false;
      await this.clock.sleep(Math.min(this.timing.pollMs, left));
    }
  }

  async #until(condition: () => boolean, ms = Number.POSITIVE_INFINITY): Promise<boolean> {
    const found = await this.#wait(() => this.hasEnded || condition(), ms);
    if (this.hasEnded) throw new PromptError('died', 'the agent has ended');
    return found;
  }

  async #begin(turn: Turn, text: string): Promise<void> {
    await this.#until(() => turn.cancelled || this.#dialogs.open?.isKnown !== true);
    if (turn.cancelled) throw new PromptError('refused', 'it was called off before it was typed');
    if (this.#dialogs.open !== undefined) throw new PromptError('refused', 'the agent shows a dialog that nobody here knows how to answer');
    if (this.#clearFirst && this.family.clear !== undefined) {
      this.console.press(this.family.clear);
      await this.#until(() => false, this.timing.pauseMs);
    }
    const { console } = this;
    const keyboard = {
      press: (keys: string) => console.press(keys),
      drop: () => {
        turn.cutOff = true;
        console.drop();
      },
      waiting: () => console.waiting,
      pastesAreBracketed: console.screen.pastesAreBracketed,
      text: () => this.#text,
      until: (condition: () => boolean, ms: number) => this.#until(condition, ms),
    };
    await type(keyboard, text, this.timing, this.isCommand);
  }

  get #lines(): string[] {
    return this.#text.split('\n');
  }

  get #isBusy(): boolean {
    return this.family.busy.test(this.#lines.slice(-STATUS_LINES).join('\n'));
  }

  get #isIdle(): boolean {
    if (this.#dialogs.open !== undefined || this.#isBusy) return false;
    return this.quiet >= (this.showsInput ? this.timing.quietMs : this.timing.silentMs);
  }

  /** After the key a shorter rest is enough. */
  get #isInterrupted(): boolean {
    return this.#dialogs.open === undefined && !this.#isBusy && this.quiet >= this.timing.settleMs;
  }

  get #limitReached(): boolean {
    return this.#lines.slice(-STATUS_LINES).some((line) => this.family.limit.test(line));
  }

  async #look(): Promise<void> {
    // Without what stands below the last line: a cursor that moves there changes nothing.
    const text = this.console.screen.lines().join('\n').trimEnd();
    if (text !== this.#text) {
      this.#text = text;
      this.#changedAt = this.clock.monotonic();
    }
    this.#shown.text.add(this.#shown.follower.look());
    if (this.#queue.isFull) await this.#queue.room();
  }

  #follow(name: string): Shown {
    const text = new TurnText((event, bytes) => this.#queue.push(event, bytes), name, this.readyPrefix);
    return { text, follower: this.console.screen.follow() };
  }

  #endShown(): void {
    this.#shown.text.add(this.#shown.follower.look());
    this.#shown.text.end();
  }

  /** A dialog counts when the screen is at rest: half of one may look like another. */
  #rest(): void {
    if (this.quiet < this.timing.settleMs || this.hasEnded) return;
    this.#dialogs.shows(findDialog(this.#lines, this.family, this.readyPrefix));
  }

  /** A dialog may appear, or go away, while nobody waits for anything. */
  async #watch(): Promise<Exit> {
    const timer = setInterval(() => this.#rest(), this.timing.pollMs);
    const { code, signal } = await this.console.ended;
    clearInterval(timer);
    const stderrTail = this.lastWords;
    // Children that it has left behind would go on working where the next process works. What cannot be ended, `stop` tells.
    await this.console.end({ hard: true }).catch(() => undefined);
    this.#dialogs.close();
    this.#done = code === 0 && !this.#stopping && this.isCommand;
    this.#gone.abort();
    await this.#flushed();
    this.#endShown();
    const exit: Exit = { code, signal, cause: this.#stopping ? 'stopped' : causeOfExit(code, stderrTail), stderrTail };
    this.#queue.end(exit);
    return exit;
  }

  /** Until the turn has said its last: the exit comes after everything. */
  async #flushed(): Promise<void> {
    while (this.#turn !== undefined) await new Promise((resolve) => setTimeout(resolve, this.timing.pollMs));
  }
}
