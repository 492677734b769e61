import type { Clock } from '../../time/clock.js';
import { EventQueue } from '../event-queue.js';
import { cutText } from '../limits.js';
import { PromptError, UnconfirmedDead, type Exit, type RunningAgent, type RuntimeCapabilities, type TurnEnd } from '../port.js';
import { Growth } from '../screen/growth.js';
import { TurnText } from '../screen/turn-text.js';
import { OperationFailed, type Script } from './script.js';
import type { ExecTiming } from './timing.js';

export const WINDOW_LINES = 200;
/** Says in the runtime's own data whose session it is. */
export const OWNER = 'SVC_SESSION_OWNER';
/** Says there which start of its session it is. */
export const GENERATION = 'SVC_SESSION_GENERATION';
/** Of a script that is to tell once more what the session shows before it ends. */
const LAST_LOOK_MS = 5_000;
const TAIL_LINES = 40;
/** In a row. One that hangs may take as long as somebody is patient. */
const FAILED_LOOKS = 3;

interface Turn {
  cancelled: boolean;
}

/** What the session shows in a turn, or between two of them. */
interface Shown {
  readonly growth: Growth;
  readonly text: TurnText;
}

/**
 * A session behind a script. Its turns are guessed from what it shows: nothing says when one ends. What it shows is looked at all the
 * time, more seldom between turns.
 */
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
  #shown = this.#follow('before', []);
  #last: readonly string[] = [];
  #looking: Promise<unknown> = Promise.resolve();
  /** What the script showed before the session was started. */
  #stale: readonly string[] = [];
  /** Set once the script has been told it: until then, whatever runs under the name is to be ended. */
  #generation: string | undefined;
  #owner = '';

  constructor(
    private readonly script: Script,
    reported: readonly string[],
    private readonly processNames: readonly string[],
    /** It is to do its work and end: nothing else tells an end that was meant to be. */
    private readonly oneShot: boolean,
    private readonly timing: ExecTiming,
    private readonly clock: Clock,
  ) {
    this.capabilities = { resume: false, interactions: false, interrupt: true, options: [], reported };
  }

  /**
   * Notices what the session shows, and when it ends by itself. Scripts may still show what an earlier process of it has said: that is
   * no news. The script has been told the generation.
   */
  watch(stale: string, generation: string | undefined, owner: string): void {
    this.#stale = linesOf(stale);
    this.#generation = generation;
    this.#owner = owner;
    void this.#watch().catch((error: unknown) => this.#unwatched(error));
  }

  get hasFinished(): boolean {
    return this.#exit?.cause === 'clean';
  }

  async prompt(text: string, onAccepted: () => void): Promise<TurnEnd> {
    if (this.#turn !== undefined) throw new PromptError('refused', 'a turn is under way');
    const isFirst = ++this.#turns === 1;
    if (this.#over.signal.aborted && !(isFirst && this.hasFinished)) throw new PromptError('died', 'the session has ended');
    const turn = (this.#turn = { cancelled: false });
    let accepted = false;
    try {
      if (!this.#over.signal.aborted) {
        await this.#look();
        this.#part(`turn-${this.#turns}`);
        await this.#deliver(text);
        accepted = true;
        onAccepted();
        await this.#untilQuiet(turn);
      }
    } catch (error) {
      // What it was asked second and had not even been told, nobody can have done.
      if (!this.hasFinished || !(isFirst || accepted)) throw error;
    } finally {
      this.#part(`after-${this.#turns}`);
      this.#turn = undefined;
    }
    if (!accepted) onAccepted();
    // The turn is over for the reader, too, only when it has all of it.
    await this.events.allRead();
    return { stopReason: turn.cancelled ? 'cancelled' : 'end_turn' };
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
    if (!hard) {
      if (this.#turn !== undefined) await this.cancel().catch(() => undefined);
      const over = new AbortController();
      await Promise.race([this.#look(LAST_LOOK_MS), this.clock.sleep(LAST_LOOK_MS, over.signal)]);
      over.abort();
    }
    // Waits for nothing that was asked before: it may hang for as long as an operation may take.
    this.#over.abort();
    this.script.abort();
    const isSucceeded = await this.#isSucceeded().catch((cause: unknown) => {
      throw new UnconfirmedDead(`the script does not say whose session it is: ${String(cause)}`);
    });
    if (isSucceeded) return this.#ended({ code: null, signal: null, cause: 'stopped', stderrTail: '' });
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
    this.#shown.text.end();
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
      const { code, untold } = error.answer;
      if (code === undefined && untold === undefined) throw new PromptError('protocol', error.message);
      await this.#unlessGone();
      throw new PromptError('refused', error.message);
    }
  }

  /** What has died refuses all that it is told, and none of that has failed: the watch finds the same, or finds otherwise. */
  async #unlessGone(): Promise<void> {
    while (await this.#gone()) {
      if (!this.#over.signal.aborted) await this.clock.sleep(this.timing.pollMs, this.#over.signal);
      if (this.#over.signal.aborted) throw new PromptError('died', 'the session has ended');
    }
  }

  async #untilQuiet(turn: Turn): Promise<void> {
    const { pollMs, quietMs, patienceMs } = this.timing;
    let activity = await this.script.lastActivity();
    let quietSince = this.clock.monotonic();
    let moved = false;
    let failed = 0;
    for (;;) {
      await this.clock.sleep(pollMs, this.#over.signal);
      if (this.#over.signal.aborted) throw new PromptError('died', 'the session ended in the middle of a turn');
      const changed = await this.#look();
      const latest = await this.script.lastActivity();
      if (changed === true || latest !== activity) {
        activity = latest;
        quietSince = this.clock.monotonic();
        moved = true;
      }
      failed = changed === undefined ? failed + 1 : 0;
      if (failed > 0 && failed < FAILED_LOOKS && !turn.cancelled) continue;
      const isSeen = moved && failed === 0;
      if (this.clock.monotonic() - quietSince < (isSeen || turn.cancelled ? quietMs : patienceMs)) continue;
      // What has died is quiet, too: then the turn waits for the watch to find the same, or to find otherwise.
      if (!(await this.#gone())) return;
    }
  }

  /** A look that fails says nothing, neither that something has changed nor that nothing has: undefined. */
  async #look(timeoutMs?: number): Promise<boolean | undefined> {
    return this.#seen(timeoutMs).catch(() => undefined);
  }

  /** Whether anything has changed. Looks come one after the other. */
  async #seen(timeoutMs?: number): Promise<boolean> {
    const seen = this.#looking.then(async () => {
      const window = linesOf(await this.script.peek(WINDOW_LINES, timeoutMs));
      if (this.events.isFull) await this.events.room();
      if (this.#exit !== undefined) return false;
      if (this.#stale.length > 0 && this.#stale.every((line, index) => line === window[index]))
        this.#shown = this.#follow('before', this.#stale);
      this.#stale = [];
      this.#last = window;
      return this.#shown.text.add(this.#shown.growth.look(window));
    });
    this.#looking = seen.catch(() => undefined);
    return seen;
  }

  /** What is shown from now on is another part. */
  #part(name: string): void {
    this.#shown.text.end();
    this.#shown = this.#follow(name, this.#last);
  }

  #follow(name: string, before: readonly string[]): Shown {
    return { growth: new Growth(before), text: new TurnText((event, bytes) => this.events.push(event, bytes), name) };
  }

  async #watch(): Promise<void> {
    const { signal } = this.#over;
    for (let gone = 0; ;) {
      await this.clock.sleep(this.#turn === undefined ? this.timing.idlePollMs : this.timing.pollMs, signal);
      if (signal.aborted) return;
      gone = (await this.#gone()) ? gone + 1 : 0;
      if (this.#turn === undefined) await this.#look();
      // One wrong answer must not end a session.
      if (gone < 2 || signal.aborted) continue;
      await this.#look();
      const tail = this.#last.slice(-TAIL_LINES).join('\n');
      const isSucceeded = await this.#isSucceeded().catch(unlessFailed);
      if (isSucceeded === undefined) continue;
      if (!isSucceeded) await this.script.run('stop');
      if (!signal.aborted) this.#ended({ code: null, signal: null, cause: this.oneShot ? 'clean' : 'crashed', stderrTail: tail });
      return;
    }
  }

  /** Nobody would notice its end any more. It is not known to be gone: whoever reads that it has ended has it stopped, which confirms it. */
  #unwatched(error: unknown): void {
    if (this.#exit !== undefined) return;
    this.#over.abort();
    this.#shown.text.end();
    const stderrTail = `the session could not be watched any more: ${String(error)}`;
    this.events.end({ code: null, signal: null, cause: 'crashed', stderrTail });
  }

  /** Whether the name is a later start's by now, or another session's: what runs there stays. @throws OperationFailed when nobody can say it */
  async #isSucceeded(): Promise<boolean> {
    if (this.#generation === undefined) return false;
    const latest = await this.script.getMeta(GENERATION);
    if (latest !== '' && latest !== this.#generation) return true;
    const owner = await this.script.getMeta(OWNER);
    return owner !== '' && owner !== this.#owner;
  }

  async #gone(): Promise<boolean> {
    const running = await this.script.isRunning();
    if (running !== true || this.processNames.length === 0) return running === false;
    // A session without any of its programs is an empty shell.
    return (await this.script.processAlive(this.processNames)) === false;
  }
}

/** Undefined while there is no script that could say it. */
function unlessFailed(error: unknown): undefined {
  if (!(error instanceof OperationFailed)) throw error;
}

function linesOf(text: string): string[] {
  // A hundred lines are kept until they are an entry; a script may show a megabyte without an end of line.
  return text.trimEnd() === '' ? [] : text.trimEnd().split(/\r?\n/).map(cutText);
}
