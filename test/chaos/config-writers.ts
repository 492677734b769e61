import type { Member } from './fleet.js';
import type { ConfigView, Edit } from './history-config.js';
import { ask } from './http.js';
import { composedView } from './config-views.js';
import { drawEdit, Things, type EditRequest } from './config-requests.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import { outcomeOf, repeated } from './sending.js';
import { placeOf } from './work-writers.js';

const PATIENCE_MS = 6_000;

/** Changes the configuration of a few cities over random replicas. Only what creates something, and carries a key, is sent again. */
export class ConfigWriters {
  readonly #things = new Map<string, Things>();
  #serial = 0;
  #stopped = false;
  readonly #loops: Promise<void>[] = [];

  constructor(
    private readonly replicas: readonly Member[],
    private readonly random: Random,
    private readonly recorder: Recorder,
    private readonly cities: readonly string[],
  ) {
    for (const city of cities) this.#things.set(city, new Things());
  }

  start(writers: number, pauseMs: number): void {
    for (const city of this.cities)
      for (let i = 0; i < writers; i++) this.#loops.push(this.#loop(this.random.fork(), pauseMs, (random) => this.#change(city, random)));
    this.#loops.push(this.#loop(this.random.fork(), 400, (random) => this.#look(random.pick(this.cities), random)));
  }

  /** What every city is before anybody changes it, and something to change before anything is harmed. */
  async prepare(cities: readonly string[], edits: number): Promise<void> {
    for (const city of cities) await this.#look(city, this.random);
    const some = async (city: string): Promise<void> => {
      for (let i = 0; i < edits; i++) await this.#change(city, this.random);
    };
    await Promise.all(this.cities.map(some));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #loop(random: Random, pauseMs: number, work: (random: Random) => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await work(random);
      await new Promise((resolve) => setTimeout(resolve, random.int(0, pauseMs * 2)));
    }
  }

  async #change(city: string, random: Random): Promise<void> {
    const things = this.#things.get(city)!;
    const request = drawEdit(random, things, `c${this.recorder.history.seed}-${++this.#serial}`);
    const edits = await repeated(() => this.#send(city, request, random), request.key, random);
    // What may have happened is believed: asking for it again shows.
    if (edits.some((edit) => edit.outcome !== 'refused')) learn(things, request.edit);
  }

  async #send(city: string, { method, path, body, key, edit }: EditRequest, random: Random): Promise<Edit> {
    const replica = await this.#replica(random);
    const from = this.recorder.now();
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await ask(method, `${replica.url}/v0/city/${city}${path}`, { body, headers, ms: PATIENCE_MS });
    const keyed = key === undefined ? {} : { key };
    const at = { city, replica: replica.name, from, to: this.recorder.now() };
    const made: Edit = { ...edit, ...keyed, ...at, ...outcomeOf(answer), ...placeOf(answer) };
    this.recorder.history.edits.push(made);
    return made;
  }

  async #look(city: string, random: Random): Promise<void> {
    const view: ConfigView | undefined = await composedView(await this.#replica(random), city, this.recorder);
    if (view !== undefined) this.recorder.history.configs.push(view);
  }

  /** One that is there: a start takes longer than most of a run's edits. */
  async #replica(random: Random): Promise<Member> {
    for (let tries = 0; tries < 40 && !this.#stopped; tries++) {
      const serving = this.replicas.filter((replica) => replica.serving);
      if (serving.length > 0) return random.pick(serving);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return random.pick(this.replicas);
  }
}

function learn(things: Things, { kind, subject }: EditRequest['edit']): void {
  const list = kind.startsWith('agent.') ? things.agents : kind.startsWith('rig.') ? things.rigs : things.providers;
  if (kind.endsWith('.create')) list.push(subject);
  const at = kind.endsWith('.remove') && kind !== 'patch.remove' ? list.indexOf(subject) : -1;
  if (at >= 0) list.splice(at, 1);
}
