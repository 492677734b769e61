import {
  PromptError,
  StartError,
  UnconfirmedDead,
  type AgentRuntime,
  type Exit,
  type InteractionAnswer,
  type RunningAgent,
  type RuntimeEvent,
  type Slow,
  type StartFailure,
  type StartSpec,
  type Transport,
  type TurnEnd,
} from '../../../../platform/runtime/port.js';
import { AgentRuntimes, HostProcesses, type FoundProcess, type ProcessMarkers } from '../ports.js';

type Event = RuntimeEvent;
type Deferred<T> = { promise: Promise<T>; resolve: (value: T) => void; reject: (error: unknown) => void };

function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((a, b) => ([resolve, reject] = [a, b]));
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/**
 * A host whose processes are objects: they outlive the runner that started them, as real ones do, and remember what they were
 * told. Several runners may share it.
 */
export class FakeHost {
  readonly processes: FakeAgent[] = [];
  /** Answers how a start fails; undefined lets it succeed. */
  refuse: (spec: StartSpec) => StartFailure | StartError | undefined = () => undefined;
  /** Agents cannot go on with the conversations of those before them. */
  forgets = false;
  /** Waited for before a process is ready. */
  gate: (spec: StartSpec) => Promise<void> | undefined = () => undefined;
  /** What is said of a start that takes long. */
  silence: string | undefined;
  /** Of processes that cannot be ended. */
  immortal = false;
  /** How often that was tried in vain. */
  inVain = 0;
  /** What that fails with instead of being told. */
  fault: Error | undefined;

  /** The runtimes of one runner. */
  runtimes(owner: string): AgentRuntimes {
    const runtime: AgentRuntime = { transport: 'acp', start: (spec, signal, slow) => this.#start(owner, spec, signal, slow) };
    return { of: (transport: Transport) => (transport === 'acp' ? runtime : undefined) };
  }

  /** A runner has been killed: what it would still do to its processes has no effect. */
  orphan(owner: string): void {
    for (const process of this.processes) if (process.owner === owner) process.orphaned = true;
  }

  survived(): Error {
    this.inVain++;
    return this.fault ?? new UnconfirmedDead('it does not die');
  }

  get alive(): FakeAgent[] {
    return this.processes.filter((process) => process.alive);
  }

  /** Everything that processes of a session were told, in the order of their starts. */
  told(session: string): string[] {
    return this.processes.filter((process) => process.session === session).flatMap((process) => process.prompts);
  }

  async #start(owner: string, spec: StartSpec, signal: AbortSignal, slow?: Slow): Promise<RunningAgent> {
    const agent = new FakeAgent(this, owner, spec);
    this.processes.push(agent);
    const gate = this.gate(spec);
    if (this.silence !== undefined) slow?.(this.silence, 50_000);
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (gate !== undefined) await Promise.race([gate, aborted]);
    const failure = signal.aborted ? 'aborted' : this.refuse(spec);
    if (failure === undefined) return agent;
    if (failure !== 'unconfirmed_dead') agent.die({ code: 1, signal: null, cause: 'crashed', stderrTail: '' });
    throw failure instanceof StartError ? failure : new StartError(failure, `fake: ${failure}`, 'the last words');
  }
}

/** The process table of a fake host. */
export class FakeProcesses extends HostProcesses {
  constructor(readonly host: FakeHost) {
    super();
  }

  async find(markers: ProcessMarkers): Promise<readonly FoundProcess[]> {
    return this.host.alive.filter((process) => fits(process, markers)).map(asFound);
  }

  async end(markers: ProcessMarkers, which: (found: FoundProcess) => boolean = () => true): Promise<number> {
    const found = this.host.alive.filter((process, pid) => fits(process, markers) && which(asFound(process, pid)));
    if (found.length > 0 && this.host.immortal) throw this.host.survived();
    for (const process of found) process.die({ code: null, signal: 'SIGKILL', cause: 'crashed', stderrTail: '' });
    return found.length;
  }
}

const asFound = ({ city, session, generation }: FakeAgent, pid: number): FoundProcess => ({ pid, city, session, generation });

function fits(process: FakeAgent, { city, session, generation }: ProcessMarkers): boolean {
  return (
    (city === undefined || process.city === city) &&
    (session === undefined || process.session === session) &&
    (generation === undefined || process.generation === generation)
  );
}

/**
 * Does what it is told: `hang` never ends by itself, `deaf` does not even when it is cancelled, `crash` dies after its first
 * words, `die` before them, `refuse`, `limit`, `ask`, `slow` until `release`, `say <n>` in so many pieces, else an echo.
 */
export class FakeAgent implements RunningAgent {
  readonly pid = 1;
  readonly sessionKey: string;
  readonly continued: 'resumed' | 'new';
  readonly capabilities = { resume: true, interactions: true, interrupt: true, options: [] };
  readonly prompts: string[] = [];
  readonly answers: { requestId: string; answer: InteractionAnswer }[] = [];
  readonly set: Record<string, string> = {};
  cancels = 0;
  alive = true;
  orphaned = false;
  readonly #queue: Event[] = [];
  #wake: (() => void) | undefined;
  #over = false;
  #turn: Deferred<TurnEnd> | undefined;
  #exit = deferred<Exit>();
  #asked = 0;

  constructor(
    private readonly host: FakeHost,
    readonly owner: string,
    readonly spec: StartSpec,
  ) {
    const resume = host.forgets ? undefined : spec.resume;
    this.sessionKey = resume ?? `conversation-${host.processes.length + 1}`;
    this.continued = resume === undefined ? 'new' : 'resumed';
  }

  get session(): string {
    return this.spec.env.SVC_SESSION_ID!;
  }
  get city(): string {
    return this.spec.env.SVC_CITY!;
  }
  get generation(): string {
    return this.spec.env.SVC_GENERATION!;
  }

  readonly events: AsyncIterable<Event> = { [Symbol.asyncIterator]: () => this.#read() };

  async *#read(): AsyncGenerator<Event> {
    for (;;) {
      const event = this.#queue.shift();
      if (event !== undefined) {
        yield event;
        if (event.type === 'exit') return;
      } else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  emit(event: Event): void {
    if (this.#over) return;
    if (event.type === 'exit') this.#over = true;
    this.#queue.push(event);
    this.#wake?.();
  }

  say(text: string): void {
    this.emit({ type: 'text', kind: 'message', text });
  }

  async prompt(text: string, onAccepted: () => void): Promise<TurnEnd> {
    if (this.orphaned) return new Promise(() => undefined);
    if (!this.alive) throw new PromptError('died', 'it is dead');
    this.prompts.push(text);
    const turn = (this.#turn = deferred<TurnEnd>());
    const [word, argument] = text.split(' ');
    if (word === 'refuse') turn.reject(new PromptError('refused', 'it does not want to'));
    else if (word === 'limit') turn.reject(new PromptError('rate_limited', 'no more for today'));
    else if (word === 'die') this.die({ code: 1, signal: null, cause: 'crashed', stderrTail: 'died' });
    else {
      onAccepted();
      if (word === 'crash') setImmediate(() => this.die({ code: 1, signal: null, cause: 'crashed', stderrTail: 'crashed' }));
      else if (word === 'quit') setImmediate(() => this.die({ code: 0, signal: null, cause: 'clean', stderrTail: '' }));
      else if (word === 'ask') this.ask(`question-${++this.#asked}`);
      else if (word === 'say') for (let i = 0; i < Number(argument); i++) this.say(`${i} `);
      else if (word === 'hang' || word === 'deaf' || word === 'slow') this.say('working');
      else this.say(`echo: ${text}`);
      if (word === 'say' || !['crash', 'quit', 'ask', 'hang', 'deaf', 'slow'].includes(word!)) turn.resolve({ stopReason: 'end_turn' });
    }
    try {
      return await turn.promise;
    } finally {
      this.#turn = undefined;
    }
  }

  ask(requestId: string): void {
    const options = [
      { id: 'yes', label: 'Yes', kind: 'allow_once' },
      { id: 'no', label: 'No', kind: 'reject_once' },
    ];
    this.emit({ type: 'interaction', requestId, kind: 'approval', prompt: 'May I?', options, metadata: {} });
  }

  /** Ends the current turn. */
  release(): void {
    this.#turn?.resolve({ stopReason: 'end_turn' });
  }

  async cancel(): Promise<void> {
    this.cancels++;
    if (this.prompts.at(-1) !== 'deaf') this.#turn?.resolve({ stopReason: 'cancelled' });
  }

  async respond(requestId: string, answer: InteractionAnswer): Promise<boolean> {
    this.answers.push({ requestId, answer });
    this.emit({ type: 'interaction_cleared', requestId });
    this.say(`chosen: ${answer.action}`);
    this.#turn?.resolve({ stopReason: 'end_turn' });
    return true;
  }

  async setOption(key: string, value: string): Promise<boolean> {
    this.set[key] = value;
    return true;
  }

  async peek(): Promise<string> {
    return '';
  }

  async stop(): Promise<Exit> {
    if (this.orphaned) return new Promise(() => undefined);
    if (this.host.immortal && this.alive) throw this.host.survived();
    this.#turn?.resolve({ stopReason: 'cancelled' });
    this.die({ code: null, signal: 'SIGTERM', cause: 'stopped', stderrTail: '' });
    return this.#exit.promise;
  }

  die(exit: Exit): void {
    if (!this.alive) return;
    this.alive = false;
    this.#turn?.reject(new PromptError('died', 'the process has ended'));
    this.emit({ type: 'exit', exit });
    this.#exit.resolve(exit);
  }
}
