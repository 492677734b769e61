import type { Member } from './fleet.js';
import type { BeadView, Change, WorkView } from './history-work.js';
import { ask, type Answer } from './http.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import { outcomeOf, repeated } from './sending.js';
import { Beliefs } from './work-beliefs.js';
import { draw, FORMULA, type Request } from './work-requests.js';

interface Answered {
  readonly id?: string;
  readonly bead?: BeadView;
  readonly fence?: number;
}

/** A run with all that it decides about: attempts, rounds, a scope that is taken down. */
const RUN = `formula = "${FORMULA}"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "try"
title = "Try"
retry = { max_attempts = 2, on_exhausted = "soft_fail" }
[[steps]]
id = "scope"
title = "Scope"
needs = ["try"]
metadata = { "gc.kind" = "scope" }
[[steps]]
id = "one"
title = "One"
metadata = { "gc.scope_ref" = "scope", "gc.on_fail" = "abort_scope" }
[[steps]]
id = "two"
title = "Two"
metadata = { "gc.scope_ref" = "scope", "gc.on_fail" = "abort_scope" }
[[steps]]
id = "again"
title = "Again"
needs = ["try"]
loop = { until = "step.status == 'completed'", max = 3, body = [{ id = "round", title = "Round" }] }
[[steps]]
id = "last"
title = "Last"
needs = ["scope", "again"]
[[steps]]
id = "sweep"
title = "Sweep"
metadata = { "gc.kind" = "cleanup", "gc.scope_ref" = "scope", "gc.scope_role" = "teardown" }
`;

/** Short beside a run: who waits for a frozen replica writes nothing else. */
const PATIENCE_MS = 2_000;

/**
 * Work on running cities over random replicas: most of it on two of them, so that writers meet. What makes something
 * may carry a key and is then sent several times; the rest is sent again only when no answer came.
 */
export class WorkWriters {
  readonly #beliefs = new Map<string, Beliefs>();
  #serial = 0;
  #stopped = false;
  readonly #loops: Promise<void>[] = [];

  constructor(
    private readonly replicas: readonly Member[],
    private readonly random: Random,
    private readonly recorder: Recorder,
    private readonly busy: readonly string[],
    private readonly running: () => readonly string[],
  ) {}

  start(writers: number, pauseMs: number): void {
    for (let i = 0; i < writers; i++) this.#loops.push(this.#loop(this.random.fork(), pauseMs, (r) => this.#change(r)));
    this.#loops.push(this.#loop(this.random.fork(), 200, (r) => this.#look(r)));
  }

  /** Something to work on, before anything is harmed: a formula for all cities, and some work. */
  async prepare(changes: number, cities: readonly string[]): Promise<void> {
    for (const city of cities) await this.#save(city);
    for (const city of this.busy)
      for (let i = 0; i < changes; i += 4) await Promise.all([1, 2, 3, 4].map(() => this.#changeOf(city, this.random)));
  }

  async #save(city: string): Promise<void> {
    const { url } = this.replicas[0]!;
    const answer = await ask('PUT', `${url}/v0/city/${city}/formulas/${FORMULA}`, {
      body: RUN,
      headers: { 'content-type': 'application/octet-stream' },
    });
    if (answer?.status !== 200) throw new Error(`the formula of ${city} is not saved: ${answer?.status} ${answer?.body}`);
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

  async #change(random: Random): Promise<void> {
    const running = this.running();
    const at = random.next();
    await this.#changeOf(at < 0.6 || running.length === 0 ? this.busy[0]! : at < 0.8 ? this.busy[1]! : random.pick(running), random);
  }

  async #changeOf(city: string, random: Random): Promise<void> {
    const beliefs = this.#of(city);
    const request = draw(random, beliefs, `w${this.recorder.history.seed}-${++this.#serial}`);
    const send = (): Promise<Change> => this.#send(city, request, random);
    const changes = await repeated(send, request.key, random);
    if (request.key === undefined && changes[0]!.outcome === 'unknown' && !makes(request)) changes.push(await send());
    for (const change of changes) if (change.outcome === 'acknowledged') learn(beliefs, change);
    const launched = changes.find(({ kind, outcome }) => kind === 'run.launch' && outcome === 'acknowledged');
    if (launched !== undefined) await this.#stepsOf(city, launched, beliefs, random);
  }

  async #send(city: string, { method, path, body, key, change }: Request, random: Random): Promise<Change> {
    const replica = await this.#replica(random);
    const from = this.recorder.now();
    const headers = {
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(change.expected === undefined ? {} : { 'if-match': `"${change.expected}"` }),
    };
    const answer = await ask(method, `${replica.url}/v0/city/${city}${path}`, { body, headers, ms: PATIENCE_MS });
    const to = this.recorder.now();
    const keyed = key === undefined ? {} : { key };
    const made: Change = { ...change, city, ...keyed, replica: replica.name, from, to, ...outcomeOf(answer), ...placeOf(answer) };
    this.recorder.history.changes.push(made);
    return made;
  }

  /** The steps of a run are work as any other; those that it makes later are found with those of the next one. */
  async #stepsOf(city: string, { body }: Change, beliefs: Beliefs, random: Random): Promise<void> {
    const { id } = JSON.parse(body!) as { id: string };
    beliefs.keep(beliefs.runs, id);
    for (const run of new Set([id, beliefs.one(beliefs.runs, random)!])) {
      const replica = await this.#replica(random);
      const answer = await ask('GET', `${replica.url}/v0/city/${city}/runs/${run}/steps`, { ms: PATIENCE_MS });
      if (answer?.status !== 200) continue;
      const { steps } = JSON.parse(answer.body) as { steps: { id: string }[] | null };
      for (const step of steps ?? []) if (!beliefs.beads.includes(step.id)) beliefs.keep(beliefs.beads, step.id);
    }
  }

  /** What a list shows at any moment is what the log says up to its index. */
  async #look(random: Random): Promise<void> {
    const city = random.pick(this.busy);
    const replica = await this.#replica(random);
    const answer = await ask('GET', `${replica.url}/v0/city/${city}/beads?all=true&limit=1000`, { ms: 3_000 });
    if (answer?.status !== 200) return;
    const { items, next_cursor: next } = JSON.parse(answer.body) as { items: BeadView[]; next_cursor?: string };
    const { index } = placeOf(answer);
    if (next !== undefined || index === undefined) return;
    const revisions = Object.fromEntries(items.map((bead) => [bead.id, bead.revision]));
    const view: WorkView = { city, source: replica.name, index, at: this.recorder.now(), revisions };
    this.recorder.history.views.push(view);
  }

  /** One that is there: a start takes longer than most of a run's changes. */
  async #replica(random: Random): Promise<Member> {
    for (let tries = 0; tries < 20 && !this.#stopped; tries++) {
      const serving = this.replicas.filter((replica) => replica.serving);
      if (serving.length > 0) return random.pick(serving);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return random.pick(this.replicas);
  }

  #of(city: string): Beliefs {
    let beliefs = this.#beliefs.get(city);
    if (beliefs === undefined) this.#beliefs.set(city, (beliefs = new Beliefs()));
    return beliefs;
  }
}

function makes({ change: { kind } }: Request): boolean {
  return ['bead.create', 'convoy.create', 'run.launch', 'mail.send', 'mail.reply'].includes(kind);
}

/** Where in the log an answer stands, and the revision that it names. */
export function placeOf(answer: Answer | undefined): Pick<Change, 'index' | 'revision'> {
  if (answer === undefined || answer.status < 200 || answer.status >= 300) return {};
  const { 'x-svc-index': index, etag } = answer.headers;
  const revision = /^"(\d+)"$/.exec(etag ?? '')?.[1];
  return {
    ...(typeof index === 'string' ? { index: Number(index) } : {}),
    ...(revision === undefined ? {} : { revision: Number(revision) }),
  };
}

function learn(beliefs: Beliefs, change: Change): void {
  const { id, bead, fence } = JSON.parse(change.body!) as Answered;
  const { kind, subject, claimant, revision, others = [] } = change;
  if (kind === 'bead.create') beliefs.keep(beliefs.beads, id!);
  if (kind === 'convoy.create') beliefs.keep(beliefs.convoys, id!);
  if (kind === 'mail.send' || kind === 'mail.reply') beliefs.keep(beliefs.messages, id!);
  if (kind === 'bead.close') beliefs.keep(beliefs.closed, subject!);
  if (kind === 'edge.add') beliefs.keep(beliefs.edges, [subject!, others[0]!]);
  if (claimant !== undefined && bead !== undefined && fence !== undefined) beliefs.keep(beliefs.held, { id: bead.id, claimant, fence });
  const about = bead?.id ?? id ?? subject;
  const known = bead?.revision ?? revision;
  if (about !== undefined && known !== undefined) beliefs.revisions.set(about, known);
}
