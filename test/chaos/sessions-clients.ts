import type { Member } from './fleet.js';
import { ask } from './http.js';
import type { Random } from './random.js';
import { outcomeOf, repeated } from './sending.js';
import type { Ask, AskKind, SessionsHistory } from './sessions-history.js';
import { sleep } from './sleep.js';

type About = Partial<Pick<Ask, 'session' | 'text' | 'intent' | 'interaction' | 'action' | 'message'>>;

interface Pending {
  readonly session_id: string;
  readonly request_id: string;
  readonly choices?: readonly { readonly id: string }[];
}
interface Listed {
  readonly id: string;
  readonly state: string;
  readonly running: boolean;
}

const MOST = 14;
const SLOW_MS = 9_000;

/** People who work with sessions, over random replicas; some requests carry a key and are sent several times at once. */
export class SessionsClients {
  /** Sessions that somebody was told of. */
  readonly known: string[] = [];
  readonly #loops: Promise<void>[] = [];
  #serial = 0;
  #stopped = false;

  constructor(
    private readonly apis: readonly Member[],
    private readonly city: string,
    private readonly random: Random,
    private readonly history: SessionsHistory,
    private readonly now: () => number,
    private readonly met: (session: string) => void,
  ) {}

  start(): void {
    const loop = (pauseMs: number, work: (random: Random) => Promise<unknown>): void => {
      this.#loops.push(this.#loop(this.random.fork(), pauseMs, work));
    };
    loop(900, (random) => this.create(random));
    for (let i = 0; i < 5; i++) loop(350, (random) => this.#send(random));
    for (let i = 0; i < 2; i++) loop(500, (random) => this.answer(random));
    for (let i = 0; i < 2; i++) loop(900, (random) => this.#disturb(random));
    loop(1_500, (random) => this.#cancel(random));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async create(random: Random): Promise<void> {
    if (this.known.length >= MOST) return;
    const title = `chaos ${this.history.seed}-${++this.#serial}`;
    const message = random.chance(0.5) ? this.#text(random) : undefined;
    const body = { kind: 'provider', name: 'loopback', title, ...(message === undefined ? {} : { message }) };
    const about = message === undefined ? {} : { text: message };
    const asks = await this.#keyed(random, (key) => this.request('create', title, 'POST', 'sessions', { body, key, about, random }));
    for (const { session } of asks) if (session !== undefined) this.#meet(session);
  }

  /** Answers something that waits, now and then twice and differently. */
  async answer(random: Random): Promise<void> {
    const pending = await this.#read<Pending>('pending', random);
    if (pending.length === 0) return;
    const { session_id: session, request_id: interaction, choices = [] } = random.pick(pending);
    const one = (): Promise<unknown> => {
      const action = choices.length === 0 ? 'allow' : random.pick(choices).id;
      const marker = `r${++this.#serial}`;
      const body = { action, request_id: interaction };
      const about = { session, interaction, action };
      return this.#keyed(random, (key) =>
        this.request('respond', marker, 'POST', `session/${session}/respond`, { body, key, about, random }),
      );
    };
    await Promise.all(random.chance(0.3) ? [one(), one()] : [one()]);
  }

  /** Open sessions, as a replica lists them; undefined when it did not answer. */
  async open(random: Random): Promise<Listed[]> {
    return this.#read<Listed>('sessions?limit=1000', random);
  }

  /** A request about a session without a body. */
  verb(kind: AskKind, session: string, random: Random): Promise<Ask> {
    return this.request(kind, `v${++this.#serial}`, 'POST', `session/${session}/${kind}`, { about: { session }, random, ms: 25_000 });
  }

  /** A message that has to arrive. */
  probe(session: string, random: Random): Promise<Ask> {
    const text = `probe ${this.history.seed}-${++this.#serial}`;
    const options = { body: { message: text }, about: { session, text }, random };
    return this.request('probe', text, 'POST', `session/${session}/messages`, options);
  }

  async #loop(random: Random, pauseMs: number, work: (random: Random) => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await work(random);
      await sleep(random.int(0, pauseMs * 2));
    }
  }

  async #send(random: Random): Promise<void> {
    const session = this.#some(random);
    if (session === undefined) return void (await sleep(100));
    const text = this.#text(random);
    const intent = random.pick(['default', 'default', 'follow_up', 'interrupt_now']);
    const kind = random.chance(0.4) ? 'message' : 'submit';
    const [path, body] = kind === 'message' ? ['messages', { message: text }] : ['submit', { message: text, intent }];
    const about = { session, text, intent: kind === 'message' ? 'default' : intent };
    await this.#keyed(random, (key) => this.request(kind, text, 'POST', `session/${session}/${path}`, { body, key, about, random }));
  }

  async #disturb(random: Random): Promise<void> {
    const session = this.#some(random);
    if (session === undefined) return void (await sleep(100));
    const verbs = ['stop', 'stop', 'stop', 'kill', 'suspend', 'wake', 'wake', 'wake', 'reset', 'drain'] as const;
    const kind = random.chance(0.06) ? 'close' : random.pick(verbs);
    await this.request(kind, `v${++this.#serial}`, 'POST', `session/${session}/${kind}`, { about: { session }, random, ms: SLOW_MS });
  }

  async #cancel(random: Random): Promise<void> {
    const session = this.#some(random);
    if (session === undefined) return;
    const [queued] = await this.#read<{ id: string }>(`session/${session}/messages?status=queued`, random);
    if (queued === undefined) return;
    const about = { session, message: queued.id };
    await this.request('cancel', `c${++this.#serial}`, 'DELETE', `session/${session}/messages/${queued.id}`, { about, random });
  }

  /** Unlike any other: what a command ends in is not read by the agent, and says which one it is. */
  #text(random: Random): string {
    const serial = ++this.#serial;
    const mark = serial.toString(2).padStart(12, '0').replaceAll('0', ' ').replaceAll('1', '\t');
    const words = `word ${this.history.seed}-${serial}`;
    const commands = ['ask', 'ask', 'ask', 'tool', 'think', 'plan', 'usage', 'stream 12 40', 'stream 40 50', 'wait 1500', 'big 20000'];
    if (random.chance(0.04)) return `crash${mark}`;
    return random.chance(0.35) ? words : `${random.pick(commands)}${mark}`;
  }

  #some(random: Random): string | undefined {
    // The first few are talked to most, so that much happens to one session at once.
    const { known } = this;
    return known.length === 0 ? undefined : random.pick(random.chance(0.5) ? known.slice(-4) : known);
  }

  #meet(session: string): void {
    if (this.known.includes(session)) return;
    this.known.push(session);
    this.met(session);
  }

  async #keyed(random: Random, send: (key: string | undefined) => Promise<Ask>): Promise<Ask[]> {
    const key = random.chance(0.4) ? `k${this.history.seed}-${++this.#serial}` : undefined;
    return repeated(() => send(key), key, random);
  }

  async #read<T>(path: string, random: Random): Promise<T[]> {
    const answer = await ask('GET', `${random.pick(this.apis).url}/v0/city/${this.city}/${path}`, { ms: 3_000 });
    return answer?.status === 200 ? ((JSON.parse(answer.body) as { items: T[] | null }).items ?? []) : [];
  }

  async request(
    kind: AskKind,
    marker: string,
    method: string,
    path: string,
    options: { body?: object; key?: string | undefined; about: About; random: Random; ms?: number },
  ): Promise<Ask> {
    const { body, key, about, random, ms } = options;
    const replica = random.pick(this.apis);
    const from = this.now();
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const sent = { headers, ...(body === undefined ? {} : { body }), ...(ms === undefined ? {} : { ms }) };
    const answer = await ask(method, `${replica.url}/v0/city/${this.city}/${path}`, sent);
    const outcome = outcomeOf(answer);
    const said = outcome.outcome === 'acknowledged' ? (JSON.parse(outcome.body!) as { request_id?: string; session_id?: string }) : {};
    const asked: Ask = {
      kind,
      marker,
      city: this.city,
      replica: replica.name,
      from,
      to: this.now(),
      ...(key === undefined ? {} : { key }),
      ...about,
      ...outcome,
      ...(said.request_id === undefined ? {} : { requestId: said.request_id }),
      ...(kind === 'create' && said.session_id !== undefined ? { session: said.session_id } : {}),
    };
    this.history.asks.push(asked);
    return asked;
  }
}
