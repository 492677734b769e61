import { ProblemError } from '../../../contract/problems.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { PromptError, type RunningAgent, type TurnUsage } from '../../../platform/runtime/port.js';
import { spanned, type Span } from '../../../platform/telemetry/spans.js';
import { isForNext } from '../../sessions/session-names/for-next.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import { NOW, type SessionRow } from '../../sessions/session-store/session-row.js';
import type { EntryWrite } from '../../sessions/transcripts/entries.js';
import type { TurnStop } from '../../sessions/usage/turn.js';
import { Fenced, type OwnedSession } from './owned-session.js';
import type { Recorder } from './recorder.js';
import type { RunnerContext } from './runner-context.js';
import type { TurnMessage } from './session-work.repository.js';
import { workerOperation } from './worker-operation.js';

interface Turn {
  readonly number: number;
  readonly text: string;
  /** Absent for what a new conversation begins with. */
  readonly message?: TurnMessage | undefined;
  readonly startedAt: Date;
  /** What it is a part of, when that is traced. */
  readonly traceparent?: string | undefined;
}

/** How a turn has ended, as far as the session has to know. */
export interface TurnOutcome {
  /** The process cannot go on: it is limited or not signed in. */
  readonly over?: 'rate_limited' | 'auth_required' | undefined;
  /** It refuses what its conversation begins with, in these words. */
  readonly unprompted?: string | undefined;
  /** The process died in it. */
  readonly died: boolean;
}

/** A process is asked so often to take what its conversation begins with. One more than once: a person may have stopped the first. */
const PROMPT_TRIES = 3;

/**
 * The turns of one process, one at a time. A message is marked in flight before it is given to the process and delivered
 * once that shows a sign of life: whatever dies in between, nobody gives it to a process again.
 */
export class SessionTurns {
  /** Messages that this process was given; whoever saw one of them in the queue looked too early. */
  readonly given = new Set<number>();
  #usage: TurnUsage = {};
  #prompt: string | undefined;
  /** How often it has refused that in a row. */
  #refusals = 0;

  constructor(
    private readonly context: RunnerContext,
    private readonly owner: OwnedSession,
    private readonly agent: RunningAgent,
    private readonly recorder: Recorder,
    prompt: string | undefined,
    /** Of the request that has made the session. */
    private readonly traceparent?: string,
  ) {
    this.#prompt = prompt;
  }

  /** What its conversation begins with has still to be said. */
  get hasPrompt(): boolean {
    return this.#prompt !== undefined;
  }

  /** What the current turn has cost so far. */
  use(usage: TurnUsage): void {
    this.#usage = { ...this.#usage, ...withoutUndefined(usage) };
    this.recorder.usage(usage);
  }

  /** Does the next turn to its end; undefined when there is nothing to say now. @throws Fenced */
  async next(begun: () => void): Promise<TurnOutcome | undefined> {
    // What was said before keeps its place before the turn.
    this.recorder.closeText();
    await this.recorder.flush();
    const turn = await this.#begin();
    if (turn === undefined) return undefined;
    this.recorder.beginTurn(turn.number);
    if (turn.message?.intent === 'interrupt_now') this.given.add(turn.message.pk);
    begun();
    await this.context.failpoints.hit('message.after_in_flight');
    const facts = { 'svc.city': this.owner.city.name, 'svc.message.id': turn.message?.id, 'svc.turn': turn.number };
    return spanned('agent turn', { kind: 'consumer', parent: turn.traceparent, facts }, (span) => this.#prompted(turn, span));
  }

  async #begin(): Promise<Turn | undefined> {
    const { messages, repository } = this.context;
    let tries = 0;
    return this.owner.change(async (changes, row) => {
      // The answer to an earlier commit may have been lost with its connection: what it began goes on.
      const begun = tries++ === 0 ? undefined : await repository.begunTurn(changes.tx, row.pk, row.generation);
      if (begun !== undefined) return { ...begun, text: begun.message?.body ?? this.#prompt ?? '', startedAt: new Date() };
      if (row.state !== 'active' || !row.live || row.stop_request !== null) return undefined;
      if ((await repository.facts(changes.tx, row.pk, row.generation)).asks) return undefined;
      // What has done its work already has done what somebody waits for, if anybody does.
      const awaited = this.agent.hasFinished === true ? await messages.next(changes, row) : undefined;
      const first = awaited === undefined ? await this.#firstPrompt(changes.tx, row) : undefined;
      const message = first === undefined ? (awaited ?? (await messages.next(changes, row))) : undefined;
      if (first === undefined && (message === undefined || !(await this.#take(changes, row, message)))) return undefined;
      const number = await repository.nextTurn(changes.tx, row.pk);
      const text = first ?? message!.body;
      await this.context.usage.begin(changes, row, number);
      await this.#log(changes.tx, row, 'in-turn', [userEntry(row, number, text, message)]);
      changes.touch(row);
      const id = message?.request_id ?? undefined;
      const traceparent = id === undefined ? this.traceparent : await this.context.operations.traceparent({ id }, changes.tx);
      return { number, text, message, traceparent, startedAt: new Date() };
    });
  }

  /** Said once a conversation. One of which it is not known that the agent has it is said again. */
  async #firstPrompt(tx: Tx, row: SessionRow): Promise<string | undefined> {
    if (this.#prompt === undefined || !(await this.context.repository.hasEntry(tx, row.pk, promptEntry(row)))) return this.#prompt;
    this.#prompt = undefined;
    return undefined;
  }

  /** Whether a message is for this process, and in flight to it. One that is not stays in the queue, and the inbox tells of it again. */
  async #take(changes: SessionChanges, row: SessionRow, { pk }: TurnMessage): Promise<boolean> {
    // The pools may not have looked yet: whoever has changed whom the name means has the next one answer.
    if (await this.#isForNext(changes, row)) return false;
    return (await this.context.messages.inFlight(changes, row, pk)) !== undefined;
  }

  /** Whether what is said to its name is for another session, or nobody can tell now. */
  async #isForNext(changes: SessionChanges, row: SessionRow): Promise<boolean> {
    try {
      return await isForNext(this.context.config, changes, row);
    } catch (error) {
      // The next look may read it; a process does not end for that.
      if (error instanceof ProblemError && error.problem === 'unavailable') return true;
      throw error;
    }
  }

  async #prompted(turn: Turn, span: Span | undefined): Promise<TurnOutcome> {
    this.#usage = {};
    let accepted: Promise<void> | undefined;
    const accept = (): void => {
      if (accepted === undefined) span?.note('accepted');
      accepted ??= this.#accepted(turn);
      // Awaited below, when the turn has ended; until then it is nobody's.
      accepted.catch(() => undefined);
    };
    let stopReason: TurnStop;
    let refused: PromptError | undefined;
    try {
      if (!this.owner.held) throw new Fenced('the lease has run out');
      stopReason = (await this.agent.prompt(turn.text, accept)).stopReason;
      accept();
    } catch (error) {
      if (!(error instanceof PromptError)) throw error;
      refused = error;
      stopReason = error.cause_ === 'died' ? 'lost' : 'failed';
    }
    span?.add({ 'svc.turn.stop_reason': stopReason });
    if (refused !== undefined) span?.fail(refused.cause_);
    await accepted;
    await this.recorder.endTurn();
    await this.#end(turn, stopReason, accepted === undefined ? refused : undefined);
    const over = refused?.cause_;
    if (over === 'died') return { died: true };
    if (over === 'rate_limited' || over === 'auth_required') return { died: false, over };
    return { died: false, unprompted: accepted === undefined ? this.#refusal(turn, refused) : undefined };
  }

  /** Its words, once it is of no use to ask it again. What waits behind the first prompt would wait for ever, and every try takes a turn. */
  #refusal({ message }: Turn, refused: PromptError | undefined): string | undefined {
    if (message !== undefined || refused === undefined) return undefined;
    return ++this.#refusals < PROMPT_TRIES ? undefined : refused.message;
  }

  async #accepted(turn: Turn): Promise<void> {
    const { messages, failpoints } = this.context;
    await failpoints.hit('message.after_prompt');
    this.#prompt = undefined;
    await this.owner.change(async (changes, row) => {
      if (turn.message !== undefined) await messages.delivered(changes, row, turn.message.pk);
      else await this.#log(changes.tx, row, undefined, [userEntry(row, turn.number, turn.text, undefined, true)]);
    });
    await failpoints.hit('message.after_delivered');
  }

  /** A refusal before the turn began fails the message; one that a death has swallowed is left to whoever settles the death. */
  async #end({ number, message, startedAt }: Turn, stopReason: TurnStop, refused: PromptError | undefined): Promise<void> {
    const { messages, usage: recorder } = this.context;
    const usage = this.#usage;
    await this.owner.change(async (changes, row) => {
      const swallowed = refused?.cause_ === 'died';
      const progress = {
        failed_starts: 0,
        ...(row.restarts.length === 0 ? {} : { restarts: [] }),
        ...(row.losses === null ? {} : { losses: null }),
      };
      const after = await changes.patch(row, { last_turn_at: NOW, ...(refused === undefined ? progress : {}) });
      if (refused !== undefined && !swallowed && message !== undefined)
        await messages.failed(changes, after, message.pk, { message: refused.message, ...codeOf(refused) });
      // Of a turn that has ended an earlier commit has told, whose answer was lost.
      const ended = await recorder.finish(changes, after, number, stopReason, usage);
      await this.#log(changes.tx, after, 'idle', []);
      const error = refused?.message;
      const done = { operation: 'message', startedAt, error, delivered: refused === undefined, usage } as const;
      if (ended) changes.emit(workerOperation(changes, after, done));
    });
  }

  async #log(tx: Tx, row: SessionRow, activity: 'idle' | 'in-turn' | undefined, entries: readonly EntryWrite[]): Promise<void> {
    const { pk: sessionPk, generation, epoch } = row;
    if ((await this.context.log.appendIn(tx, { sessionPk, generation, epoch, entries, activity })) === 'fenced') throw new Fenced('fenced');
  }
}

function codeOf({ cause_ }: PromptError): { code?: string } {
  return cause_ === 'rate_limited' || cause_ === 'auth_required' ? { code: cause_ } : {};
}

function promptEntry({ epoch }: SessionRow): string {
  return `prompt.${epoch}`;
}

/** What was said to the agent. The first prompt is `partial` until the agent is known to have it. */
function userEntry(row: SessionRow, turn: number, text: string, message: TurnMessage | undefined, has = false): EntryWrite {
  const blocks = [{ type: 'text', text }] as const;
  if (message === undefined)
    return {
      entryId: promptEntry(row),
      kind: 'message',
      role: 'user',
      status: has ? 'final' : 'partial',
      blocks,
      raw: [{ source: 'prompt' }],
      turn,
    };
  const { id, source, sender, intent, reference } = message;
  const raw = [{ source, sender, message_id: id, intent, ...(reference === null ? {} : { reference }) }];
  return { entryId: id, kind: 'message', role: 'user', status: 'final', blocks, raw, turn };
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
