import type { Clock } from '../../time/clock.js';
import { EventQueue } from '../event-queue.js';
import { PromptError, UnconfirmedDead, type Exit, type RunningAgent, type RuntimeCapabilities, type TurnEnd } from '../port.js';
import { Growth } from '../screen/growth.js';
import { TurnText } from '../screen/turn-text.js';
import { OperationFailed, type Script } from './script.js';

/** Milliseconds. */
export interface ExecTiming {
  /** Between looks during a turn and during a start. */
  readonly pollMs: number;
  /** Between looks whether it still runs. */
  readonly idlePollMs: number;
  /** A turn has ended when nothing has changed for so long; */
  readonly quietMs: number;
  /** for longer when nothing has changed since it began: the agent may be thinking. */
  readonly patienceMs: number;
  /** For the script to confirm that a session is gone. */
  readonly confirmMs: number;
}

export const EXEC_TIMING: ExecTiming = { pollMs: 1_000, idlePollMs: 5_000, quietMs: 5_000, patienceMs: 30_000, confirmMs: 10_000 };
const WINDOW_LINES = 200;
const TAIL_LINES = 40;

interface Turn {
  cancelled: boolean;
}

/** A session behind a script. Its turns are guessed from what it shows: nothing says when one ends. */
export class ExecAgent implements RunningAgent {
  readonly pid = undefined;
  readonly sessionKey = undefined;
  readonly continued = 'new';
  readonly capabilities: RuntimeCapabilities;
  readonly events = new EventQueue();
  readonly #over = new AbortController();
  #turn: Turn | undefined;
  #turns = 0;
  #stopping: Promise<Exit> | undefined;
  #exit: Exit | undefined;

  constructor(
    private readonly script: Script,
    reported: readonly string[],
    private readonly processNames: readonly string[],
    private readonly timing: ExecTiming,
    private readonly clock: Clock,
  ) {
    this.capabilities = { resume: false, interactions: false, interrupt: true, options: [], reported };
  }

  /** Notices when the session ends by itself. */
  watch(): void {
    void this.#watch();
  }

  async prompt(text: string, onAccepted: () => void): Promise<TurnEnd> {
    if (this.#turn !== undefined) throw new PromptError('refused', 'a turn is under way');
    if (this.#over.signal.aborted) throw new PromptError('died', 'the session has ended');
    const turn = (this.#turn = { cancelled: false });
    const shown = new TurnText((event) => this.events.push(event), ++this.#turns);
    try {
      const growth = new Growth(await this.#window());
      await this.#deliver(text);
      onAccepted();
      await this.#untilQuiet(turn, growth, shown);
      shown.end();
      // The turn is over for the reader, too, only when it has all of it.
      await this.events.allRead();
      return { stopReason: turn.cancelled ? 'cancelled' : 'end_turn' };
    } finally {
      shown.end();
      this.#turn = undefined;
    }
  }

  async cancel(): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined) return;
    await this.script.call('interrupt');
    turn.cancelled = true;
  }

  async respond(): Promise<boolean> {
    return false;
  }

  async setOption(): Promise<boolean> {
    return false;
  }

  async peek(lines: number): Promise<string> {
    return this.script.peek(lines);
  }

  async stop({ hard = false }: { readonly hard?: boolean } = {}): Promise<Exit> {
    if (this.#exit !== undefined) return this.#exit;
    // A second call asks the script again only after the first one has failed.
    this.#stopping ??= this.#stop(hard).finally(() => (this.#stopping = undefined));
    return this.#stopping;
  }

  async #stop(hard: boolean): Promise<Exit> {
    if (!hard && this.#turn !== undefined) await this.cancel().catch(() => undefined);
    // Waits for nothing that was asked before: it may hang for as long as an operation may take.
    this.#over.abort();
    this.script.abort();
    const answer = await this.script.run('stop');
    const limit = this.clock.monotonic() + this.timing.confirmMs;
    while ((await this.script.isRunning()) !== false) {
      if (this.clock.monotonic() > limit)
        throw new UnconfirmedDead(`the script does not say that the session has stopped: ${answer.stderr.trim()}`);
      await this.clock.sleep(this.timing.pollMs);
    }
    return this.#ended({ code: null, signal: null, cause: 'stopped', stderrTail: answer.stderr });
  }

  #ended(exit: Exit): Exit {
    this.#exit = exit;
    this.#over.abort();
    this.events.end(exit);
    return exit;
  }

  async #deliver(text: string): Promise<void> {
    try {
      await this.script.nudge(text);
    } catch (error) {
      if (this.#over.signal.aborted) throw new PromptError('died', 'the session has ended');
      if (!(error instanceof OperationFailed)) throw error;
      // Cut off in the middle it may have arrived or not; nobody can tell.
      throw new PromptError(error.answer.code === undefined ? 'protocol' : 'refused', error.message);
    }
  }

  async #untilQuiet(turn: Turn, growth: Growth, shown: TurnText): Promise<void> {
    const { pollMs, quietMs, patienceMs } = this.timing;
    let activity = await this.script.lastActivity();
    let quietSince = this.clock.monotonic();
    let moved = false;
    for (;;) {
      await this.clock.sleep(pollMs, this.#over.signal);
      if (this.#over.signal.aborted) throw new PromptError('died', 'the session ended in the middle of a turn');
      const changed = await this.#look(growth, shown);
      const latest = await this.script.lastActivity();
      if (changed || latest !== activity) {
        activity = latest;
        quietSince = this.clock.monotonic();
        moved = true;
      }
      if (this.clock.monotonic() - quietSince < (moved || turn.cancelled ? quietMs : patienceMs)) continue;
      // What has died is quiet, too: then the turn waits for the watch to find the same, or to find otherwise.
      if (!(await this.#gone())) return;
    }
  }

  /** A look that fails says nothing: neither that something has changed nor that nothing has. */
  async #look(growth: Growth, shown: TurnText): Promise<boolean> {
    const window = await this.#window().catch(() => undefined);
    return window === undefined || shown.add(growth.look(window));
  }

  async #window(): Promise<string[]> {
    return (await this.script.peek(WINDOW_LINES)).trimEnd().split(/\r?\n/);
  }

  async #watch(): Promise<void> {
    const { signal } = this.#over;
    for (let gone = 0; ;) {
      await this.clock.sleep(this.#turn === undefined ? this.timing.idlePollMs : this.timing.pollMs, signal);
      if (signal.aborted) return;
      gone = (await this.#gone()) ? gone + 1 : 0;
      // One wrong answer must not end a session.
      if (gone < 2 || signal.aborted) continue;
      const tail = await this.peek(TAIL_LINES).catch(() => '');
      await this.script.run('stop');
      if (!signal.aborted) this.#ended({ code: null, signal: null, cause: 'crashed', stderrTail: tail });
      return;
    }
  }

  async #gone(): Promise<boolean> {
    const running = await this.script.isRunning();
    if (running !== true || this.processNames.length === 0) return running === false;
    // A session without any of its programs is an empty shell.
    return (await this.script.processAlive(this.processNames)) === false;
  }
}
