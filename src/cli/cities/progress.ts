import { showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;

/** The line that is drawn over itself: what, phase, how long; cut to the width of the terminal. */
export function progressLine(title: string, phase: string | undefined, elapsedMs: number, frame: number, columns: number): string {
  const text = `${SPINNER[frame % SPINNER.length]!} ${title}${phase === undefined ? '' : `: ${phase}`} (${showDuration(elapsedMs)})`;
  const room = Math.max(columns - 1, 10);
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

/** Progress on stderr: one moving line on a terminal, one plain line a phase elsewhere. */
export class Progress {
  readonly #started = Date.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #phase: string | undefined;
  #frame = 0;

  constructor(
    private readonly io: Io,
    private readonly title: string,
    private readonly quiet: boolean,
  ) {
    if (quiet) return;
    if (io.interactive) {
      this.#draw();
      this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    } else io.err(`${title}\n`);
  }

  get phase(): string | undefined {
    return this.#phase;
  }

  enter(given: string): void {
    const phase = plain(given);
    if (phase === this.#phase) return;
    this.#phase = phase;
    if (this.quiet) return;
    if (this.io.interactive) this.#draw();
    else this.io.err(`${this.title}: ${phase}\n`);
  }

  /** Says something above the moving line. */
  note(text: string): void {
    if (!this.quiet) this.tell(text);
  }

  /** The same where nothing else is said: somebody has to do something about it. */
  tell(text: string): void {
    this.io.err(this.io.interactive && !this.quiet ? `\r\u001b[K${plain(text)}\n` : `${plain(text)}\n`);
  }

  end(): void {
    clearInterval(this.#timer);
    if (!this.quiet && this.io.interactive) this.io.err('\r\u001b[K');
  }

  #draw(): void {
    this.io.err(`\r\u001b[K${progressLine(this.title, this.#phase, Date.now() - this.#started, this.#frame++, this.io.columns)}`);
  }
}
