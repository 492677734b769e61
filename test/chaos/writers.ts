import { readFile, writeFile } from 'node:fs/promises';
import type { Member } from './fleet.js';
import type { OperationKind, Write } from './history.js';
import { ask, type Answer } from './http.js';
import { outcomeOf, repeated } from './sending.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';

interface Accepted {
  readonly request_id?: string;
  readonly event_cursor?: string;
  readonly seq?: number;
}

/** Emits events and moves cities about, over random replicas; some writes carry a key and are sent several times at once. */
export class Writers {
  /** What this side believes: which cities there are and what they were told last. */
  readonly cities = new Map<string, 'running' | 'stopped' | 'gone'>();
  /** Positions that were handed out with 202s. */
  readonly cursors: string[] = [];
  /** Cities whose configuration is broken at the moment, with what it was. */
  readonly #broken = new Map<string, string>();
  #serial = 0;
  #stopped = false;
  readonly #loops: Promise<void>[] = [];

  constructor(
    private readonly replicas: readonly Member[],
    private readonly random: Random,
    private readonly recorder: Recorder,
    /** Cities that no lifecycle operation touches. */
    private readonly stable: ReadonlySet<string>,
    private readonly root: string,
  ) {}

  start(emitters: number, pauseMs: number): void {
    for (let i = 0; i < emitters; i++) this.#loops.push(this.#loop(this.random.fork(), pauseMs, (r) => this.#emit(r)));
    for (let i = 0; i < 2; i++) this.#loops.push(this.#loop(this.random.fork(), 400, (r) => this.#lifecycle(r)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async create(name: string, key?: string): Promise<boolean> {
    return this.#operation('city.create', name, key, this.random);
  }

  async #loop(random: Random, pauseMs: number, work: (random: Random) => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await work(random);
      await new Promise((resolve) => setTimeout(resolve, random.int(0, pauseMs * 2)));
    }
  }

  async #emit(random: Random): Promise<void> {
    const running = [...this.cities].filter(([, state]) => state === 'running').map(([name]) => name);
    const city = random.pick(running.length === 0 ? [...this.stable] : running);
    const marker = `m${this.recorder.history.seed}-${++this.#serial}`;
    const key = random.chance(0.25) ? `k-${marker}` : undefined;
    const body = {
      type: random.pick(['chaos.one', 'chaos.two']),
      actor: 'chaos',
      message: marker,
      payload: { n: this.#serial, text: 'é"\\' },
    };
    const send = (): Promise<Write> => this.#send('emit', city, marker, `/v0/city/${city}/events`, body, key, random);
    await repeated(send, key, random);
  }

  async #lifecycle(random: Random): Promise<void> {
    const movable = [...this.cities].filter(([name]) => !this.stable.has(name));
    if (movable.length === 0) return;
    const [city, state] = random.pick(movable);
    if (random.chance(0.15)) await this.#break(city);
    else if (random.chance(0.3)) await this.repair();
    const kind: OperationKind =
      state === 'gone' ? 'city.register' : random.chance(0.3) ? 'city.unregister' : state === 'running' ? 'city.stop' : 'city.start';
    await this.#operation(kind, city, random.chance(0.5) ? `k-${++this.#serial}` : undefined, random);
    if (random.chance(0.12))
      await this.#operation('city.create', `extra-${++this.#serial}`, random.chance(0.6) ? `k-${++this.#serial}` : undefined, random);
  }

  async #operation(kind: OperationKind, city: string, key: string | undefined, random: Random): Promise<boolean> {
    const [path, body] =
      kind === 'city.create'
        ? ['/v0/city', { dir: city, provider: 'loopback' }]
        : kind === 'city.register'
          ? ['/v0/cities/register', { dir: city }]
          : [`/v0/city/${city}/${kind.slice(5)}`, undefined];
    const marker = `o${++this.#serial}`;
    const send = (): Promise<Write> => this.#send(kind, city, marker, path as string, body, key, random);
    const writes = await repeated(send, key, random);
    const accepted = writes.some((w) => w.outcome === 'acknowledged');
    if (accepted) this.cities.set(city, kind === 'city.unregister' ? 'gone' : kind === 'city.stop' ? 'stopped' : 'running');
    else await this.#look(city, writes);
    return accepted;
  }

  /** A city that cannot come up: its next start ends in a failure, and it is tried again once the file is whole. */
  async #break(city: string): Promise<void> {
    const file = `${this.root}/${city}/city.toml`;
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined || this.#broken.has(city)) return;
    this.#broken.set(city, text);
    await writeFile(file, 'this is [not toml');
  }

  async repair(): Promise<void> {
    for (const [city, text] of [...this.#broken]) {
      this.#broken.delete(city);
      await writeFile(`${this.root}/${city}/city.toml`, text).catch(() => undefined);
    }
  }

  /** After a refusal or a lost answer this side learns from the list what is true. */
  async #look(city: string, writes: readonly Write[]): Promise<void> {
    if (writes.length === 0) return;
    const answer = await ask('GET', `${this.random.pick(this.replicas).url}/v0/cities`, { ms: 3_000 });
    if (answer?.status !== 200) return;
    const { items } = JSON.parse(answer.body) as { items: { name: string; running: boolean; status?: string }[] | null };
    const found = items?.find((c) => c.name === city);
    if (found !== undefined) this.cities.set(city, found.running ? 'running' : 'stopped');
    else if (this.cities.has(city)) this.cities.set(city, 'gone');
  }

  async #send(
    kind: Write['kind'],
    city: string,
    marker: string,
    path: string,
    body: unknown,
    key: string | undefined,
    random: Random,
  ): Promise<Write> {
    const replica = random.pick(this.replicas);
    const from = this.recorder.now();
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await ask('POST', `${replica.url}${path}`, { body, headers });
    const common = { marker, kind, city, replica: replica.name, from, to: this.recorder.now(), ...(key === undefined ? {} : { key }) };
    const write: Write = { ...common, ...outcomeOf(answer), ...this.#answered(kind, answer) };
    this.recorder.history.writes.push(write);
    return write;
  }

  #answered(kind: Write['kind'], answer: Answer | undefined): Pick<Write, 'seq' | 'requestId'> {
    if (answer === undefined || answer.status < 200 || answer.status >= 300) return {};
    const { request_id: requestId, event_cursor: cursor, seq } = JSON.parse(answer.body) as Accepted;
    if (cursor !== undefined) this.cursors.push(cursor);
    return { ...(kind === 'emit' && seq !== undefined ? { seq } : {}), ...(requestId === undefined ? {} : { requestId }) };
  }
}
