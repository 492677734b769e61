import { Random } from './random.js';
import {
  emptySessions,
  type AgentProcess,
  type Ask,
  type AskKind,
  type Block,
  type EntryEnd,
  type SessionsHistory,
  type StreamFormat,
} from './sessions-history.js';

type Entry = EntryEnd;
type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Of<K extends keyof SessionsHistory> = SessionsHistory[K] extends (infer T)[] ? Writable<T> : never;

/** Sessions in small: without a mistake what it tells is right. Those of `sessions-bugs.ts` are made in what it has told. */
export class SessionsModel {
  readonly history: SessionsHistory;
  readonly #random: Random;
  #now = 0;
  #serial = 0;
  #seq = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.history = emptySessions(seed);
  }

  run(sessions: number, steps: number): SessionsHistory {
    for (let i = 1; i <= sessions; i++) new ModelSession(this, this.#random.fork(), i).live(steps);
    return this.history;
  }

  tick(): number {
    return (this.#now += 10);
  }

  serial(): number {
    return ++this.#serial;
  }

  event(type: string, subject: string, payload: object): void {
    const seq = ++this.#seq;
    this.history.log.push({ stream: 'town', seq, type, city: 'town', text: JSON.stringify({ seq, type, subject, payload }) });
  }

  ask(kind: AskKind, marker: string, more: Partial<Ask>): Ask {
    const from = this.tick();
    const ask: Ask = { kind, marker, city: 'town', replica: 'api-1', from, to: from + 5, outcome: 'acknowledged', ...more };
    this.history.asks.push(ask);
    return ask;
  }

  operation(kind: string, state: 'succeeded' | 'failed' = 'succeeded'): string {
    const id = `req-${this.serial()}`;
    this.history.operations.push({ id, kind, state });
    const type = state === 'succeeded' ? `request.result.${kind}` : 'request.failed';
    this.event(type, '', { request_id: id, operation: kind });
    return id;
  }
}

class ModelSession {
  readonly #id: string;
  readonly #row: Of<'sessions'>;
  readonly #entries: Entry[] = [];
  /** Every version of every entry, in the order of positions. */
  readonly #versions: Entry[] = [];
  readonly #said: { role: 'user' | 'agent'; text: string }[] = [];
  #process: AgentProcess | undefined;
  #turn = 0;
  #pk: number;

  constructor(
    private readonly model: SessionsModel,
    private readonly random: Random,
    number: number,
  ) {
    this.#id = `town-${number}`;
    this.#pk = number * 1_000;
    this.#row = {
      id: this.#id,
      title: `title ${number}`,
      state: 'start-pending',
      generation: 0,
      live: false,
      runner: null,
      stopRequest: null,
      head: 0,
      entries: 0,
    };
    this.model.history.sessions.push(this.#row);
  }

  live(steps: number): void {
    const { model, random } = this;
    const key = `k${model.serial()}`;
    const requestId = model.operation('session.create');
    for (let i = random.int(1, 2); i > 0; i--) model.ask('create', this.#row.title, { key, requestId, session: this.#id });
    this.#told('session.created', { from: '', to: 'start-pending' });
    this.#start();
    // One of everything, then whatever comes.
    for (const step of ['message', 'ask', 'cancel', 'refuse', 'kill'] as const) this.#step(step);
    for (let i = 0; i < steps; i++)
      this.#step(random.pick(['message', 'message', 'ask', 'cancel', 'refuse', 'kill', 'suspend', 'crash'] as const));
    this.#end('close');
    this.#finish();
  }

  #step(step: 'message' | 'ask' | 'cancel' | 'refuse' | 'kill' | 'suspend' | 'crash'): void {
    switch (step) {
      case 'message':
        return this.#message(`word ${this.model.serial()}`, (text) => `echo: ${text}`);
      case 'ask':
        return this.#message(`ask ${this.model.serial()}`, () => `chosen: ${this.#question()}`);
      case 'cancel':
        return this.#cancelled();
      case 'refuse':
        this.model.ask('submit', 'refused words', {
          text: 'refused words',
          session: this.#id,
          outcome: 'refused',
          status: 409,
          problem: true,
        });
        return;
      case 'kill':
      case 'suspend':
        this.#end(step);
        return this.#start(step === 'suspend');
      case 'crash':
        this.#sample(undefined);
        this.#told('session.crashed', {});
        return this.#start();
    }
  }

  #start(suspended = false): void {
    if (suspended) this.#told('session.wake_requested', { from: 'suspended', to: 'asleep' });
    const from = this.#row.generation === 0 ? 'start-pending' : 'asleep';
    const generation = ++this.#row.generation;
    this.#told('session.starting', { from, to: 'creating', generation });
    const pid = this.model.serial();
    this.#sample({ session: this.#id, generation, pid, birth: String(pid), group: pid });
    this.#told('session.woke', {});
    this.#sample(this.#process);
  }

  #sample(process: AgentProcess | undefined): void {
    this.#process = process;
    this.model.history.samples.push({ at: this.model.tick(), processes: process === undefined ? [] : [process] });
  }

  #end(kind: 'kill' | 'suspend' | 'close'): void {
    this.#sample(this.#process);
    const from = this.model.tick();
    if (kind === 'close') this.#told('session.closed', { from: 'active', to: 'closed' });
    else this.#told(kind === 'kill' ? 'session.stopped' : 'session.suspended', {});
    this.model.ask(kind, `v${this.model.serial()}`, { from, session: this.#id });
    this.#sample(undefined);
    if (kind === 'close') this.#row.state = 'closed';
  }

  #message(text: string, answer: (text: string) => string): void {
    const { model, random } = this;
    const id = `msg-${++this.#pk}`;
    const requestId = model.operation('session.submit');
    const key = random.chance(0.5) ? `k${model.serial()}` : undefined;
    const about = { text, session: this.#id, requestId, intent: 'default', ...(key === undefined ? {} : { key }) };
    for (let i = key === undefined ? 1 : 2; i > 0; i--) model.ask('submit', text, about);
    const message = { session: this.#id, pk: this.#pk, id, body: text, source: 'submit', intent: 'default', status: 'delivered' };
    model.history.messages.push(message);
    const turn = ++this.#turn;
    this.#said.push({ role: 'user', text });
    this.#write({ id, kind: 'message', role: 'user', status: 'final', turn, blocks: [{ type: 'text', text }], message: id });
    const said = answer(text);
    const blocks = (part: string): Block[] => [{ type: 'text', text: part }];
    const spoken = { id: `${this.#row.generation}.${model.serial()}`, kind: 'message', role: 'assistant', turn, message: null };
    this.#write({ ...spoken, status: 'partial', blocks: blocks(said.slice(0, 3)) });
    if (random.chance(0.3))
      this.#write({
        ...spoken,
        id: `${spoken.id}.x`,
        kind: 'thought',
        status: 'superseded',
        blocks: [{ type: 'thinking', thinking: 'hm' }],
      });
    this.#write({ ...spoken, status: 'final', blocks: blocks(said) });
    this.#said.push({ role: 'agent', text: said });
    model.history.turns.push({ session: this.#id, turn, stopReason: 'end_turn' });
  }

  #question(): string {
    const { model, random } = this;
    const id = `ask-${model.serial()}`;
    const action = random.pick(['allow', 'deny']);
    this.#told('session.interaction.opened', { request_id: id, status: 'open' });
    const about = { session: this.#id, interaction: id };
    model.ask('respond', `r${model.serial()}`, { ...about, action });
    model.ask('respond', `r${model.serial()}`, { ...about, action: 'always', outcome: 'refused', status: 409, problem: true });
    model.history.interactions.push({ session: this.#id, id, status: 'answered', action });
    this.#told('session.interaction.resolved', { request_id: id, status: 'answered', action });
    return action;
  }

  #cancelled(): void {
    const text = `never ${this.model.serial()}`;
    const requestId = this.model.operation('session.message', 'failed');
    this.model.ask('message', text, { text, session: this.#id, requestId });
    const id = `msg-${++this.#pk}`;
    this.model.history.messages.push({
      session: this.#id,
      pk: this.#pk,
      id,
      body: text,
      source: 'message',
      intent: 'default',
      status: 'cancelled',
    });
  }

  #told(type: string, payload: object): void {
    this.model.event(type, this.#id, { session_id: this.#id, ...payload });
    this.#row.head++;
  }

  #write(entry: Omit<Entry, 'session' | 'seq' | 'rev' | 'parent'>): void {
    const before = this.#entries.findIndex(({ id }) => id === entry.id);
    const seq = before < 0 ? this.#entries.length + 1 : before + 1;
    const written = { session: this.#id, seq, rev: ++this.#row.head, parent: null, ...entry };
    this.#entries[seq - 1] = written;
    this.#versions.push(written);
  }

  #finish(): void {
    const { history } = this.model;
    this.#row.entries = this.#entries.length;
    history.entries.push(...this.#entries);
    history.conversations.push({ id: this.#id, said: this.#said });
    const messages = this.#entries.map(({ id, role, status, blocks }) => ({ id, role, status, blocks }));
    for (const replica of ['api-1', 'api-2']) history.transcripts.push({ session: this.#id, replica, messages });
    for (const format of ['conversation', 'raw', 'structured'] as const) this.#follow(format);
  }

  /** A snapshot somewhere, then every change, over some connections. */
  #follow(format: StreamFormat): void {
    const { history } = this.model;
    const name = `${this.#id} ${format}`;
    history.followers.push({ name, session: this.#id, format });
    const started = this.random.int(0, Math.floor(this.#versions.length / 2));
    const known = new Map<string, Entry>();
    for (const version of this.#versions.slice(0, started)) known.set(version.id, version);
    let position = this.#versions[started - 1]?.rev ?? 0;
    const data = (id: number | undefined, entries: readonly Entry[]): Of<'follows'>['frames'][number] => {
      const body = bodyOf(format, entries, id === undefined);
      return {
        at: this.model.tick(),
        event: { conversation: 'turn', raw: 'message', structured: 'structured' }[format],
        ...(id === undefined ? {} : { id: String(id) }),
        data: body,
      };
    };
    let follow: Of<'follows'> = {
      follower: name,
      replica: 'api-1',
      openedAt: this.model.tick(),
      // The position of a snapshot is that of its last frame.
      frames: [data(undefined, [...known.values()]), { at: this.model.tick(), event: 'activity', id: String(position), data: '{}' }],
    };
    history.follows.push(follow);
    for (const version of this.#versions.slice(started)) {
      if (this.random.chance(0.2)) {
        follow = { follower: name, replica: 'api-2', after: position, openedAt: this.model.tick(), frames: [] };
        history.follows.push(follow);
      }
      follow.frames.push(data((position = version.rev), [version]));
      if (this.random.chance(0.2)) follow.frames.push({ at: this.model.tick(), event: 'heartbeat', id: String(position), data: '{}' });
    }
  }
}

function bodyOf(format: StreamFormat, entries: readonly Entry[], snapshot: boolean): string {
  const pagination = snapshot ? { pagination: { has_older_messages: false } } : {};
  const hidden = ({ status }: Entry): boolean => status === 'superseded';
  if (format === 'raw') return JSON.stringify({ entries: entries.map(({ id, status }) => ({ id, status, frames: 1 })), ...pagination });
  if (format === 'structured')
    return JSON.stringify({
      operation: snapshot ? 'snapshot' : 'upsert',
      structured_messages: entries.map(({ id, role, status, blocks }) => ({ id, role, status, blocks })),
      ...pagination,
    });
  const turns = entries
    .filter((entry) => !(snapshot && hidden(entry)))
    .map((entry) => {
      const [block] = entry.blocks;
      const text = hidden(entry) ? '' : (block?.text ?? `[thinking] ${block?.thinking}`);
      return { id: entry.id, role: entry.role, text, ...(entry.status === 'final' ? {} : { status: entry.status }) };
    });
  return JSON.stringify({ turns, ...pagination });
}
