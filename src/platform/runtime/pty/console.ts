import { constants } from 'node:os';
import { endProcess, type EndingLimits } from '../ending.js';
import { birthOf, markersOf } from '../process-table.js';
import { Keys } from './keys.js';
import { Screen } from './screen.js';
import type { Sandbox } from '../port.js';
import type { Opened } from './terminal.js';

/** How much may wait to be drawn before the program has to wait. */
const PENDING_BYTES = 256 * 1024;
/** The screen is looked at before more lines than this have left it: it forgets those that are far away. */
const TAIL_LINES = 200;

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A program in a terminal with its screen: output is drawn in order, slowly enough for whoever looks. */
export class Console {
  readonly screen: Screen;
  /** When the program has ended and all of its output is drawn; children of it may be left. */
  readonly ended: Promise<Ended>;
  readonly #keys: Keys;
  #birth: Promise<string | undefined>;
  #drawing: Promise<void> = Promise.resolve();
  #pending = 0;
  #hasEnded = false;
  #hurry = new AbortController();
  #ending: Promise<void> | undefined;

  constructor(
    private readonly opened: Opened,
    private readonly env: Readonly<Record<string, string>>,
    private readonly limits: Partial<EndingLimits>,
    private readonly sandbox?: Sandbox,
  ) {
    const { pty, terminal, endedFor } = opened;
    this.screen = new Screen(terminal);
    this.#birth = birthOf(pty.pid);
    this.#keys = new Keys(opened.take);
    this.screen.onReply((data) => this.#hasEnded || this.#keys.reply(data));
    this.ended = new Promise((resolve) => {
      pty.onExit(({ exitCode, signal }) => {
        this.#hasEnded = true;
        this.#keys.drop();
        const name = nameOf(signal);
        const code = name === null ? exitCode : null;
        const why = code === 0 ? undefined : endedFor?.().catch(() => undefined);
        void Promise.all([this.#drawing, why]).then(async ([, said]) => {
          if (said !== undefined) await this.screen.write(`\r\n${said}`);
          resolve({ code, signal: name });
        });
      });
    });
  }

  get pid(): number {
    return this.opened.pty.pid;
  }

  /** The last lines, for whoever wants to know why it has ended. */
  get lastWords(): string {
    return this.screen.tail(TAIL_LINES).join('\n');
  }

  /** Calls `look` after each piece of output, and waits for it before it lets the program go on. */
  onDrawn(look: () => Promise<void> | void): void {
    const { pty } = this.opened;
    pty.onData((data) => {
      this.#pending += data.length;
      if (this.#pending > PENDING_BYTES) pty.pause();
      this.#drawing = this.#drawing
        .then(() => this.screen.write(data))
        .then(look)
        .then(() => {
          this.#pending -= data.length;
          if (this.#pending <= PENDING_BYTES) pty.resume();
        });
    });
  }

  press(keys: string): void {
    if (!this.#hasEnded) this.#keys.press(keys);
  }

  /** Bytes of what was pressed that the program has not had room for yet. */
  get waiting(): number {
    return this.#keys.waiting;
  }

  /** Takes those back. */
  drop(): void {
    this.#keys.drop();
  }

  /**
   * Ends the whole group and whatever left it, confirmed; joins an ending that is under way.
   *
   * @throws UnconfirmedDead
   */
  async end({ hard = false }: { readonly hard?: boolean } = {}): Promise<void> {
    if (hard) this.#hurry.abort();
    const birth = await this.#birth;
    const closeInput = (): void => this.#hangUp();
    const markers = markersOf(this.env);
    const { pid, limits, sandbox } = this;
    this.#ending ??= endProcess({ pid, birth, markers, closeInput, hurry: this.#hurry.signal, limits, sandbox })
      // The next call begins anew: what could not be ended now may be gone by then.
      .finally(() => (this.#ending = undefined));
    await this.#ending;
  }

  #hangUp(): void {
    try {
      // As a terminal does it: all that run in it hear of it.
      if (!this.#hasEnded) process.kill(-this.pid, 'SIGHUP');
    } catch {
      // It has gone meanwhile.
    }
  }
}

function nameOf(signal: number | undefined): string | null {
  if (signal === undefined || signal === 0) return null;
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`;
}
