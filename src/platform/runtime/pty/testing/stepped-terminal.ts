import { Clock } from '../../../time/clock.js';
import type { StartSpec } from '../../port.js';
import { openTerminal, type Opened } from '../terminal.js';

/** An operating system command that no terminal knows: shown nowhere, and in order with everything else. */
const STEP = 7711;

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/**
 * One time for the program in a terminal and for whoever watches it. What a program is taken for depends on its silence;
 * with the machine's time, one that gets no processor for a while is silent. Here a step of time is over when the program
 * has answered it, through the terminal, behind all that it has painted meanwhile.
 */
export class SteppedTerminal extends Clock {
  #now = 0;
  #write: ((data: string) => void) | undefined;
  #answered: () => void = () => undefined;
  #answer: Promise<void> = this.#next();
  #isPassing = false;
  readonly #sleepers = new Set<Sleeper>();

  readonly open = async (spec: StartSpec): Promise<Opened> => {
    const opened = await openTerminal(spec);
    this.#write = (data) => opened.pty.write(data);
    // The first one is the program's own: before it, what it is sent would be taken for typed.
    opened.terminal.parser.registerOscHandler(STEP, () => {
      this.#answered();
      return true;
    });
    opened.pty.onExit(() => {
      this.#write = undefined;
      this.#answered();
    });
    return opened;
  };

  override monotonic(): number {
    return this.#now;
  }

  override async sleep(ms: number): Promise<void> {
    const woken = new Promise<void>((wake) => this.#sleepers.add({ at: this.#now + ms, wake }));
    void this.#pass();
    await woken;
  }

  async #pass(): Promise<void> {
    if (this.#isPassing) return;
    this.#isPassing = true;
    await this.#answer;
    while (this.#sleepers.size > 0) {
      if (this.#write === undefined) {
        await this.#standStill();
        continue;
      }
      const at = Math.max(this.#now, Math.min(...[...this.#sleepers].map((sleeper) => sleeper.at)));
      this.#answer = this.#next();
      this.#write(`\u001b]${STEP};${Math.ceil(at - this.#now)}\u0007`);
      this.#now = at;
      await this.#answer;
      // For what was drawn before the answer to be looked at.
      await new Promise((resolve) => setImmediate(resolve));
      for (const sleeper of this.#sleepers) {
        if (sleeper.at > at) continue;
        this.#sleepers.delete(sleeper);
        sleeper.wake();
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#isPassing = false;
  }

  /** The silence of a program that has ended means nothing: who waits is woken to look whether its end is known by now. */
  async #standStill(): Promise<void> {
    await super.sleep(5);
    const sleepers = [...this.#sleepers];
    this.#sleepers.clear();
    for (const { wake } of sleepers) wake();
    await new Promise((resolve) => setImmediate(resolve));
  }

  #next(): Promise<void> {
    return new Promise((resolve) => (this.#answered = resolve));
  }
}
