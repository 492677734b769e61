import { client, RequestError, type ClientConnection } from '@agentclientprotocol/sdk';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventQueue } from '../event-queue.js';
import { causeOfExit, failureOf } from '../failures.js';
import {
  PromptError,
  type Exit,
  type InteractionAnswer,
  type RunningAgent,
  type RuntimeCapabilities,
  type RuntimeEvent,
  type TurnEnd,
} from '../port.js';
import type { AgentProcess } from '../spawn.js';
import { AUTH_REQUIRED, wordsOf } from './errors.js';
import { LiveOptions } from './options.js';
import { Peek } from './peek.js';
import { Permissions } from './permissions.js';
import { ConfigOptions, PermissionRequest, PromptAnswer } from './schemas.js';
import type { AcpTiming } from './timing.js';
import { Turn } from './turn.js';
import { Updates } from './updates.js';
import { Garbage, Wire } from './wire.js';

/** What an agent can do and what conversation it has: known once the hands are shaken. */
export interface Introduction {
  readonly sessionKey: string;
  readonly continued: RunningAgent['continued'];
  /** What it offers to be signed in with, behind the words of a refusal. */
  readonly logins: string;
  readonly capabilities: {
    readonly resume: boolean;
    readonly interactions: boolean;
    readonly interrupt: boolean;
    readonly [name: string]: unknown;
  };
}

/** One process that speaks ACP. Everything that it says passes `#look` in the order of the wire. */
export class AcpAgent implements RunningAgent {
  readonly connection: ClientConnection;
  readonly live = new LiveOptions();
  readonly updates: Updates;
  readonly wire: Wire;
  /** When nothing of the process is left. */
  readonly exit: Promise<Exit>;
  readonly #queue = new EventQueue();
  readonly #permissions: Permissions;
  readonly #peek = new Peek();
  #introduction: Introduction | undefined;
  #turn: Turn | undefined;
  #stopping = false;
  #protocolBroken = false;

  constructor(
    private readonly process: AgentProcess,
    private readonly timing: AcpTiming,
  ) {
    this.updates = new Updates(this.live, (event, bytes) => this.#tell(event, bytes));
    this.#permissions = new Permissions((event, bytes) => this.#tell(event, bytes));
    this.wire = new Wire(process.stdout, process.stdin, (message, bytes) => this.#look(message, bytes));
    this.connection = client({ name: 'supervisor' })
      .onRequest('session/request_permission', PermissionRequest, ({ params, signal }) => {
        this.#turn?.showsLife();
        return this.#permissions.ask(params, signal);
      })
      .connect(this.wire.stream);
    this.exit = this.#watch();
    void this.#endWithOutput();
  }

  get pid(): number {
    return this.process.pid;
  }

  get sessionKey(): string {
    return this.#introduction!.sessionKey;
  }

  get continued(): RunningAgent['continued'] {
    return this.#introduction!.continued;
  }

  get capabilities(): RuntimeCapabilities {
    return { ...this.#introduction!.capabilities, options: this.live.list() };
  }

  get events(): AsyncIterable<RuntimeEvent> {
    return this.#queue;
  }

  get stderrTail(): string {
    return this.process.stderrTail();
  }

  get protocolIsBroken(): boolean {
    return this.#protocolBroken;
  }

  introduced(introduction: Introduction): void {
    this.#introduction = introduction;
  }

  async prompt(text: string, onAccepted: () => void): Promise<TurnEnd> {
    if (this.#turn !== undefined) throw new PromptError('refused', 'a turn is under way');
    const turn = new Turn(onAccepted, this.timing.acceptedMs);
    this.#turn = turn;
    this.updates.replaying = false;
    this.updates.beginTurn();
    this.#peek.asked(text);
    try {
      const answer = PromptAnswer.parse(
        await this.connection.agent.request('session/prompt', { sessionId: this.sessionKey, prompt: [{ type: 'text', text }] }),
      );
      turn.showsLife();
      this.#used(answer.usage);
      return { stopReason: stopReasonOf(answer.stopReason) };
    } catch (error) {
      const failure = await this.#promptFailure(error);
      // Agents that say an error where the protocol wants `cancelled`.
      if (turn.wasCancelled && failure.cause_ === 'refused') return { stopReason: 'cancelled' };
      throw failure;
    } finally {
      this.#permissions.cancelAll();
      this.updates.endTurn();
      turn.end();
      this.#turn = undefined;
      await this.#queue.allRead();
    }
  }

  async cancel(): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined) return;
    turn.wasCancelled = true;
    // Not waited for: an agent that does not read its input would keep us here.
    void this.connection.agent.notify('session/cancel', { sessionId: this.sessionKey }).catch(() => undefined);
    this.#permissions.cancelAll();
    await Promise.race([turn.ended, this.exit, sleep(this.timing.cancelMs, undefined, { ref: false })]);
  }

  async respond(requestId: string, answer: InteractionAnswer): Promise<boolean> {
    return this.#permissions.respond(requestId, answer);
  }

  async setOption(key: string, value: string): Promise<boolean> {
    const change = this.live.change(key, value);
    if (change === undefined) return false;
    try {
      const params = { ...change.params, sessionId: this.sessionKey };
      const request = this.connection.agent.request<{ configOptions?: unknown } | null>(change.method, params);
      const answer = await Promise.race([request, tooLate(this.timing.optionMs)]);
      const { data } = ConfigOptions.safeParse(answer?.configOptions);
      if (data !== undefined) this.live.opened(data, undefined);
      else if (change.method === 'session/set_mode') this.live.modeIs(change.params.modeId);
      this.#tell({ type: 'options', options: this.live.list() });
      return true;
    } catch {
      return false;
    }
  }

  async peek(lines: number): Promise<string> {
    return this.#peek.lines(lines);
  }

  async stop({ hard = false }: { readonly hard?: boolean } = {}): Promise<Exit> {
    this.#stopping ||= !this.process.hasExited;
    if (!hard) await this.cancel();
    await this.process.end({ hard });
    return this.exit;
  }

  #tell(event: RuntimeEvent, bytes?: number): void {
    this.#peek.see(event);
    this.#queue.push(event, bytes);
  }

  /** True keeps a message from the library, whose reading of updates is too strict, and not in step with the answers. */
  async #look(message: Record<string, unknown>, bytes: number): Promise<boolean> {
    if (this.#queue.isFull) await this.#queue.room();
    const { method, params } = message as { method?: unknown; params?: Record<string, unknown> };
    if (method === 'session/request_permission') {
      const { data } = PermissionRequest.safeParse(params);
      if (data === undefined) return false;
      this.updates.tool(data.toolCall, params!.toolCall, bytes);
      // The library holds it until the answer: what the question itself does not need may be large.
      const { toolCallId, title, name, kind } = data.toolCall;
      message.params = { ...data, toolCall: { toolCallId, title, name, kind } };
      return false;
    }
    if (method !== 'session/update' || 'id' in message) return false;
    const { sessionId, update } = params ?? {};
    // Conversations that the agent has beside ours are its own business.
    const ours = this.#introduction === undefined || sessionId === this.#introduction.sessionKey;
    if (ours && typeof update === 'object' && update !== null) {
      if (this.updates.handle(update as Record<string, unknown>, bytes)) this.#turn?.showsLife();
    }
    return true;
  }

  #used(usage: PromptAnswer['usage']): void {
    if (usage === undefined) return;
    this.#tell({
      type: 'usage',
      usage: {
        model: this.live.current('model'),
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        cacheReadTokens: usage.cachedReadTokens,
        cacheCreationTokens: usage.cachedWriteTokens,
      },
    });
  }

  async #promptFailure(error: unknown): Promise<PromptError> {
    if (error instanceof RequestError && !this.connection.signal.aborted) {
      if (error.code === AUTH_REQUIRED) return new PromptError('auth_required', wordsOf(error) + this.#introduction!.logins);
      return new PromptError(failureOf(wordsOf(error)) ?? 'refused', wordsOf(error));
    }
    if (!this.connection.signal.aborted) return new PromptError('protocol', 'the answer to the prompt cannot be read');
    const { cause } = await this.exit;
    if (this.#protocolBroken) return new PromptError('protocol', 'the output of the agent is not the protocol');
    if (cause === 'rate_limited' || cause === 'auth_required') return new PromptError(cause, 'the agent has ended');
    return new PromptError('died', 'the agent has ended');
  }

  async #watch(): Promise<Exit> {
    const { code, signal } = await this.process.exited;
    await this.#lastWords();
    this.process.stdout.destroy();
    this.connection.close();
    // Children that it has left behind would go on working where the next process works. What cannot be ended, `stop` tells.
    await this.process.end({ hard: true }).catch(() => undefined);
    this.#permissions.cancelAll();
    const stderrTail = this.stderrTail;
    const exit: Exit = { code, signal, cause: this.#stopping ? 'stopped' : causeOfExit(code, stderrTail), stderrTail };
    this.#queue.end(exit);
    return exit;
  }

  /** Reads what it had said before it ended, also when a child of it keeps the pipe open. */
  async #lastWords(): Promise<void> {
    const limit = performance.now() + this.timing.lastWordsMs;
    for (let bytes = -1; this.#queue.isFull || bytes !== this.wire.bytes;) {
      bytes = this.wire.bytes;
      const quiet = sleep(this.timing.quietMs, 'quiet', { ref: false });
      if ((await Promise.race([this.wire.ended, quiet])) !== 'quiet') return;
      if (this.#stopping && performance.now() > limit) return;
    }
  }

  /** A process whose output has ended, or is no protocol, is of no use any more. */
  async #endWithOutput(): Promise<void> {
    const error = await this.wire.ended;
    this.#protocolBroken = error instanceof Garbage;
    if (error === undefined) await Promise.race([this.process.exited, sleep(this.timing.lastWordsMs, undefined, { ref: false })]);
    if (!this.process.hasExited) await this.process.end({ hard: true }).catch(() => undefined);
  }
}

type PromptAnswer = ReturnType<typeof PromptAnswer.parse>;
const STOP_REASONS = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'] as const;

function stopReasonOf(reason: string): TurnEnd['stopReason'] {
  return STOP_REASONS.find((known) => known === reason) ?? 'end_turn';
}

async function tooLate(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error('no answer in time');
}
