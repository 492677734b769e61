/**
 * What a runner needs of an agent process, whatever it speaks. Adapters know nothing of sessions, cities or tables; the
 * members of `Block` are those of the contract's structured messages.
 */
export interface AgentRuntime {
  readonly transport: Transport;
  /**
   * Starts a process and makes it ready to be prompted. Whatever fails, and when `signal` aborts, the process and all its
   * children are confirmed dead before this rejects. `slow` hears, once at the
   * most, that it takes long, what is known of it, and how many milliseconds it is given still.
   *
   * @throws StartError
   */
  start(spec: StartSpec, signal: AbortSignal, slow?: Slow): Promise<RunningAgent>;
}

export type Slow = (why: string, leftMs: number) => void;

export type Transport = 'acp' | 'pty' | 'exec';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** All that the process gets: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

/** What is started in place of a program that is to be inside. */
export interface Entered extends Program {
  /** Asked when it has ended: why the host has ended it, for people; undefined where that has not, or where it is not known. */
  readonly endedFor?: () => Promise<string | undefined>;
}

/** Walls around a program. */
export interface Sandbox {
  /** What to start instead. @throws StartError not_found when the program cannot be seen inside */
  enter(program: Program): Promise<Entered>;
  /**
   * Ends everything that has ever been started in it and is left; absent where that ends with the first process of it.
   *
   * @throws UnconfirmedDead
   */
  end?(): Promise<void>;
}

export interface StartSpec extends Program {
  /** Around the process and every command that prepares its place; absent where nothing isolates. */
  readonly sandbox?: Sandbox | undefined;
  /** The agent's own id of a conversation to go on with. */
  readonly resume?: string | undefined;
  readonly mcpServers?: readonly Readonly<Record<string, unknown>>[];
  /** Chosen options by key, set on the agent as far as it offers them. */
  readonly options?: Readonly<Record<string, string>>;
  /** Milliseconds from the spawn to readiness. */
  readonly timeoutMs: number;
  /** pty: how readiness shows. */
  readonly readyPrefix?: string | undefined;
  readonly readyDelayMs?: number | undefined;
  /** exec: the name that the script knows the session by, and the rest of its start document. */
  readonly name?: string | undefined;
  /** exec: by which an earlier release knew it; what is left there of it is ended before. */
  readonly formerName?: string | undefined;
  readonly document?: Readonly<Record<string, unknown>>;
  /** exec: what the script itself has of variables beside ours. It runs outside of every wall, and what a city says is told in its document. */
  readonly scriptEnv?: Readonly<Record<string, string>>;
}

/** Why a start failed: the session's counters and its reason depend on it. */
export type StartFailure =
  | 'not_found'
  | 'died'
  | 'timeout'
  | 'protocol'
  | 'auth_required'
  | 'resume_rejected'
  | 'aborted'
  | 'unsupported'
  | 'unconfirmed_dead';

export class StartError extends Error {
  constructor(
    readonly failure: StartFailure,
    message: string,
    readonly stderrTail = '',
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'StartError';
  }
}

/** The host has no place for it at this moment: nothing was begun, and another host, or another time, may have one. */
export class HostBusy extends StartError {
  constructor(message: string, options?: ErrorOptions) {
    super('unsupported', message, '', options);
  }
}

export interface RunningAgent {
  readonly pid: number | undefined;
  /** The conversation, in the agent's own words; to be resumed with. */
  readonly sessionKey: string | undefined;
  /** How the conversation goes on: without a repetition, with one (already left out of the events), or anew. */
  readonly continued: 'resumed' | 'loaded' | 'new';
  readonly capabilities: RuntimeCapabilities;
  /**
   * It ended by itself with 0 before anything could be said to it: a command that has done its work. The first prompt it is given is
   * what it ran for, and ends at once.
   */
  readonly hasFinished?: boolean;
  /** Everything that happens, in order, until `exit`, which comes last and exactly once. Read by one reader. */
  readonly events: AsyncIterable<RuntimeEvent>;
  /**
   * Begins a turn and resolves when it has ended and the reader of `events` has asked for more after the turn's last event:
   * what a turn said is handled before its end is known. One at a time. `onAccepted` is called once: at the turn's first
   * sign of life, or after some seconds without an error.
   *
   * @throws PromptError when the agent refuses it or dies.
   */
  prompt(text: string, onAccepted: () => void): Promise<TurnEnd>;
  /** Ends the current turn early; open interactions are answered `cancelled`. Without a turn it does nothing. */
  cancel(): Promise<void>;
  /** Answers an open interaction; false when it is open no more. `action` is an option's id, or a word the adapter knows. */
  respond(requestId: string, answer: InteractionAnswer): Promise<boolean>;
  /** Sets an option of the live agent; false when it cannot. */
  setOption(key: string, value: string): Promise<boolean>;
  /** The last lines that a person would see; '' where there is none. */
  peek(lines: number): Promise<string>;
  /**
   * The ladder: cancel, close its input, SIGTERM and SIGKILL to the group, confirmed gone. Safe to call again; `hard`
   * begins at SIGKILL. After `exit` it answers at once, unless something of the process is still there.
   *
   * @throws UnconfirmedDead when the processes cannot be confirmed to be gone.
   */
  stop(options?: { readonly hard?: boolean }): Promise<Exit>;
}

export class PromptError extends Error {
  constructor(
    readonly cause_: 'refused' | 'died' | 'protocol' | 'rate_limited' | 'auth_required',
    message: string,
  ) {
    super(message);
    this.name = 'PromptError';
  }
}

export class UnconfirmedDead extends Error {}

export interface RuntimeCapabilities {
  readonly resume: boolean;
  readonly interactions: boolean;
  readonly interrupt: boolean;
  /** Options that can be set while it lives. */
  readonly options: readonly RuntimeOption[];
  readonly [name: string]: unknown;
}

export interface RuntimeOption {
  readonly key: string;
  readonly label?: string | undefined;
  readonly current?: string | undefined;
  readonly choices: readonly { readonly value: string; readonly label?: string | undefined }[];
}

export interface TurnEnd {
  readonly stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled';
}

export interface InteractionAnswer {
  readonly action: string;
  readonly text?: string | undefined;
}

export interface InteractionOption {
  readonly id: string;
  readonly label: string;
  /** allow_once, allow_always, reject_once, reject_always, or what the agent calls it. */
  readonly kind?: string | undefined;
}

export type EntryKind = 'message' | 'thought' | 'tool' | 'plan' | 'interaction' | 'system' | 'compaction';
export type EntryRole = 'user' | 'assistant' | 'system' | 'tool' | 'unknown';
export type EntryStatus = 'unknown' | 'final' | 'partial' | 'superseded';

/** A block of a structured message, under the contract's names. */
export interface Block {
  readonly type: 'text' | 'thinking' | 'tool_use' | 'tool_result' | 'interaction' | 'image' | 'unknown';
  readonly [member: string]: unknown;
}

export type RuntimeEvent =
  /** More text of the current message or thought; the reader joins what belongs together. Another `messageId` begins another one. */
  | {
      readonly type: 'text';
      readonly kind: 'message' | 'thought';
      readonly text: string;
      readonly model?: string | undefined;
      readonly messageId?: string | undefined;
    }
  /** An entry as it is now; the same id again replaces it. Ids are unique within one process of the agent. */
  | {
      readonly type: 'entry';
      readonly id: string;
      readonly kind: EntryKind;
      readonly role: EntryRole;
      readonly status: EntryStatus;
      readonly blocks: readonly Block[];
      /** The frames as the agent wrote them, in order. */
      readonly raw?: readonly unknown[] | undefined;
      readonly parentToolUseId?: string | undefined;
    }
  | {
      readonly type: 'interaction';
      readonly requestId: string;
      readonly kind: string;
      readonly prompt: string;
      readonly options: readonly InteractionOption[];
      readonly metadata: Readonly<Record<string, string>>;
    }
  | { readonly type: 'interaction_cleared'; readonly requestId: string }
  | { readonly type: 'usage'; readonly usage: TurnUsage }
  | { readonly type: 'title'; readonly title: string }
  | { readonly type: 'options'; readonly options: readonly RuntimeOption[] }
  | { readonly type: 'exit'; readonly exit: Exit };

/**
 * What a turn has cost so far, as far as the agent says so; absent members are unknown, and so is what an adapter cannot believe. Counts are
 * whole numbers of tokens up to 2^53 - 1, a cost is US dollars up to `MAX_COST_USD`: nobody looks at them again.
 */
export interface TurnUsage {
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheCreationTokens?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly contextUsed?: number | undefined;
  readonly contextWindow?: number | undefined;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** `stopped`: on our request. `clean`: by itself with code 0. */
  readonly cause: 'stopped' | 'clean' | 'crashed' | 'rate_limited' | 'auth_required';
  /** The last 64 KiB of its error output. */
  readonly stderrTail: string;
}
