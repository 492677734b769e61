import type { RunningAgent, RuntimeEvent } from '../../../platform/runtime/port.js';
import { sleep } from '../../../platform/time/clock.js';
import type { InboxAnswer, InboxCommand, InboxItem } from './inbox.repository.js';
import type { OwnedSession } from './owned-session.js';
import type { RunnerContext } from './runner-context.js';
import { workerOperation } from './worker-operation.js';

const REMEMBERED = 256;
/** For the turn of a process that did not take a cancellation. */
const ENDING_MS = 2_000;

/** What the inbox has to know of the turn. */
export interface CurrentTurn {
  /** The process was given this message: it waits in no queue. */
  readonly given: (messagePk: number) => boolean;
  /** Resolves when the current turn has ended; undefined between turns. */
  readonly turn: () => Promise<unknown> | undefined;
  /** A turn does not end although it was cancelled for a message that interrupts. */
  readonly stuck: () => void;
  /** A question is open no longer. */
  readonly answered: () => void;
}

/** Questions, answers and commands of one live process. Each is dealt with once, and none of them holds up the others. */
export class SessionInbox {
  readonly #busy = new Map<string, Promise<unknown>>();
  /** The last ones that were dealt with: a look into the inbox may be older than that. */
  readonly #dealt = new Set<string>();

  constructor(
    private readonly context: RunnerContext,
    private readonly owner: OwnedSession,
    private readonly agent: RunningAgent,
    private readonly current: CurrentTurn,
    private readonly failed: (error: unknown) => void,
  ) {}

  take({ answers, commands, interrupting }: InboxItem): void {
    for (const answer of answers) this.#once(`answer ${answer.pk}`, () => this.#answer(answer));
    for (const command of commands) this.#once(`command ${command.pk}`, () => this.#command(command));
    if (interrupting !== null && !this.current.given(interrupting) && this.current.turn() !== undefined)
      this.#once(`message ${interrupting}`, () => this.#interrupt(), false);
  }

  /** Everything that was begun is over. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#busy.values());
  }

  async asked(question: Extract<RuntimeEvent, { type: 'interaction' }>): Promise<void> {
    let opened: number | undefined;
    await this.owner.change(async (changes, row) => {
      // What was opened in a commit whose answer was lost may be answered by now: it is open no longer, and not to be opened again.
      if (opened !== undefined && (await this.context.interactions.isKnown(changes.tx, opened))) return;
      opened = (await this.context.interactions.open(changes, row, question)).pk;
    });
    await this.context.failpoints.hit('interaction.after_open');
  }

  async cleared(requestId: string): Promise<void> {
    await this.owner.change((changes, row) => this.context.interactions.clear(changes, row, requestId));
    this.current.answered();
  }

  #once(key: string, work: () => Promise<void>, forGood = true): void {
    if (this.#busy.has(key) || this.#dealt.has(key)) return;
    const done = work()
      .then(() => forGood && this.#remember(key))
      .catch(this.failed)
      .finally(() => this.#busy.delete(key));
    this.#busy.set(key, done);
  }

  #remember(key: string): void {
    this.#dealt.add(key);
    if (this.#dealt.size > REMEMBERED) for (const oldest of this.#dealt) return void this.#dealt.delete(oldest);
  }

  async #answer({ pk, runtimeId, action, text }: InboxAnswer): Promise<void> {
    await this.agent.respond(runtimeId, { action, ...(text === null ? {} : { text }) });
    await this.owner.change(async (changes) => this.context.interactions.applied(changes.tx, pk));
    this.current.answered();
  }

  async #command({ pk, kind, body }: InboxCommand): Promise<void> {
    const startedAt = new Date();
    const error = kind === 'interrupt' ? await this.#cancelled() : await this.#set(body);
    await this.owner.change(async (changes, row) => {
      // It has ended already where the answer to an earlier commit was lost: that has told it.
      const ended = await this.context.repository.endCommand(changes.tx, row.pk, pk, error);
      if (ended && kind === 'interrupt') changes.emit(workerOperation(changes, row, { operation: 'interrupt', startedAt, error }));
      else if (ended && error === undefined)
        await changes.patch(row, { options: { ...row.options, [String(body.key)]: String(body.value) } });
      changes.touch(row);
    });
  }

  async #set({ key, value }: InboxCommand['body']): Promise<string | undefined> {
    try {
      return (await this.agent.setOption(String(key), String(value))) ? undefined : `the agent does not take the option ${String(key)} now`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Cancels the turn and waits until it has ended; answers why not. */
  async #cancelled(): Promise<string | undefined> {
    const turn = this.current.turn();
    if (turn === undefined) return undefined;
    const failure = await this.agent.cancel().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    const over = new AbortController();
    // A process that is ending does not take it any more, and its turn ends with it.
    const waits = failure === undefined ? this.context.timings.cancelMs : Math.min(ENDING_MS, this.context.timings.cancelMs);
    const ended = await Promise.race([turn.then(() => true), sleep(waits, over.signal).then(() => false)]);
    over.abort();
    return ended ? undefined : (failure ?? 'the agent goes on with its turn');
  }

  async #interrupt(): Promise<void> {
    if ((await this.#cancelled()) !== undefined) this.current.stuck();
  }
}
