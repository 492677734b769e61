import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import { MessageQueue } from '../../src/modules/sessions/messages/message-queue.service.js';
import { SessionChangesService } from '../../src/modules/sessions/session-store/session-changes.service.js';
import type { SessionPatch, SessionRow } from '../../src/modules/sessions/session-store/session-row.js';
import { NamedSessions } from '../../src/modules/sessions/session-names/named-sessions.service.js';
import { SessionResolver } from '../../src/modules/sessions/session-names/session-resolver.service.js';
import { SessionStore } from '../../src/modules/sessions/session-store/session-store.repository.js';
import type { StopRequest } from '../../src/modules/sessions/session-store/session-states.js';
import { SessionTimings } from '../../src/modules/sessions/sessions/session-timings.js';
import { startStack, type Stack } from './app.js';
import { api, type Api } from './http.js';
import { Ledger } from './ledger.js';
import { eventually } from './sse.js';

export { SESSION_STATES, type SessionState } from '../../src/modules/sessions/session-store/session-states.js';

/** How long requests to the api processes of a stack wait for runners from now on. @returns what sets the old limits. */
export function patience(stack: Stack, timings: Partial<SessionTimings>): () => void {
  const all = stack.apps.filter(({ config }) => config.role === 'api').map(({ app }) => app.get(SessionTimings, { strict: false }));
  const before = all.map((one) => ({ ...one }));
  for (const one of all) Object.assign(one, timings);
  return () => all.forEach((one, n) => Object.assign(one, before[n]));
}

const PACK = `
[[agent]]
name = "clerk"
prompt_template = "prompt.md"
max_active_sessions = 1

[[agent]]
name = "clerk"
dir = "web"
prompt_template = "prompt.md"
max_active_sessions = 1

[[agent]]
name = "clerk"
dir = "docs"
prompt_template = "prompt.md"
max_active_sessions = 1

[[agent]]
name = "polecat"
dir = "web"
prompt_template = "prompt.md"
max_active_sessions = 3
drain_timeout = "90s"

[[named_session]]
name = "deacon"
template = "clerk"

[[named_session]]
name = "scribe"
template = "clerk"
dir = "web"

[[named_session]]
name = "guard"
template = "clerk"
dir = "web"
mode = "always"

[[named_session]]
name = "twin"
template = "clerk"
dir = "web"

[[named_session]]
name = "twin"
template = "clerk"
dir = "docs"
`;

/** On one connection for the whole city: to make one costs fifty times the look that it is made for. */
type Sql = <R extends object>(text: string, values?: unknown[]) => Promise<R[]>;

/**
 * A city without anybody who starts sessions, and two api processes: what requests leave behind is looked at, and a stand-in
 * does what runners do.
 */
export class SessionsCity {
  private constructor(
    readonly stack: Stack,
    readonly a: Api,
    readonly b: Api,
    readonly city: CityScope,
    readonly runner: StandIn,
    private readonly client: pg.Client,
  ) {}

  /** Requests wait for runners until they have what they asked for; a test that is about less time says so with `patience`. */
  static async open(timings: Partial<SessionTimings> = { confirmMs: 60_000, interruptMs: 60_000 }): Promise<SessionsCity> {
    const stack = await startStack({ workers: 1 });
    try {
      return await SessionsCity.#on(stack, timings);
    } catch (error) {
      await stack.stop();
      throw error;
    }
  }

  static async #on(stack: Stack, timings: Partial<SessionTimings>): Promise<SessionsCity> {
    const [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'crew', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    await stack.apps.at(-1)!.stop();
    const directory = join(stack.citiesRoot, 'crew');
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'prompt.md'), 'Work.');
    await appendFile(join(directory, 'pack.toml'), PACK);
    await appendFile(join(directory, 'city.toml'), '\n[[rigs]]\nname = "web"\n\n[[rigs]]\nname = "docs"\n');
    const reloaded = await a.post('/v0/city/crew/config/reload');
    if (reloaded.status !== 200) throw new Error(reloaded.text);
    patience(stack, timings);
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    const sql: Sql = async <R extends object>(text: string, values: unknown[] = []) => (await client.query<R>(text, values)).rows;
    const [row] = await sql<{ id: number; dir: string; stream_id: number }>(`select id, dir, stream_id from cities where name = 'crew'`);
    const city = { id: row!.id, name: 'crew', path: row!.dir, stream: 'crew', streamId: row!.stream_id };
    // What the worker began before it went.
    await sql(`delete from sessions`);
    await sql(`delete from session_names`);
    const runner = new StandIn(stack, city, sql, stack.apps[1]!.app.get(SessionChangesService, { strict: false }));
    await runner.register();
    return new SessionsCity(stack, a, b, city, runner, client);
  }

  /** What both processes answer who make the session of one configured name at once, when nothing makes one wait for the other. */
  async makeTwiceUnguarded(identity: string): Promise<readonly string[]> {
    const apps = this.stack.apps.slice(0, 2).map(({ app }) => app);
    const guards = apps.map((app) => app.get(NamedSessions, { strict: false }) as unknown as { names: { reserve: unknown } });
    const kept = guards.map(({ names }) => names.reserve);
    const stores = apps.map((app) => app.get(SessionStore, { strict: false }));
    const locks = stores.map((store) => store.lockNames);
    for (const store of stores) store.lockNames = () => Promise.resolve();
    const reached = guards.map(() => Promise.withResolvers<void>());
    const both = Promise.all(reached.map(({ promise }) => promise));
    guards.forEach(({ names }, n) => {
      names.reserve = async () => {
        reached[n]!.resolve();
        await both;
        return null;
      };
    });
    try {
      const resolvers = apps.map((app) => app.get(SessionResolver, { strict: false }));
      const results = await Promise.allSettled(
        resolvers.map((one) => one.resolve(this.city, identity, { closed: false, materialize: true })),
      );
      return results.map(({ status }) => status).sort();
    } finally {
      guards.forEach(({ names }, n) => (names.reserve = kept[n]));
      stores.forEach((store, n) => (store.lockNames = locks[n]!));
    }
  }

  path(rest: string): string {
    return `/v0/city/crew/${rest}`;
  }

  /** A session of the agent, without anybody who would start it. */
  async make(body: object = {}): Promise<{ id: string; requestId: string }> {
    const reply = await this.a.post(this.path('sessions'), { kind: 'agent', name: 'polecat', ...body });
    if (reply.status !== 202) throw new Error(reply.text);
    return { id: reply.body.session_id as string, requestId: reply.body.request_id as string };
  }

  async sql<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.client.query<R>(text, values)).rows;
  }

  /** As the database has it. */
  async row(id: string): Promise<Record<string, unknown>> {
    const [row] = await this.sql<Record<string, unknown>>('select * from sessions where id = $1', [id]);
    return row!;
  }

  /** Brings a session into a state without anybody noticing. */
  async put(id: string, columns: Readonly<Record<string, unknown>>): Promise<void> {
    const names = Object.keys(columns);
    const sets = names.map((name, n) => `${name} = $${n + 2}`).join(', ');
    await this.sql(`update sessions set ${sets} where id = $1`, [id, ...Object.values(columns)]);
    await this.sql('update session_logs l set generation = s.generation from sessions s where s.id = $1 and l.session_pk = s.pk', [id]);
  }

  async putState(id: string, state: string): Promise<void> {
    const held = ['creating', 'active', 'draining'].includes(state);
    await this.put(id, {
      state,
      closed_at: state === 'closed' ? new Date() : null,
      runner_id: held ? StandIn.id : null,
      live: state === 'active' || state === 'draining',
      generation: held ? 1 : 0,
      wake_request: null,
    });
  }

  async events(id: string): Promise<{ type: string; actor: string; message?: string; payload: Record<string, unknown> }[]> {
    return (await this.b.get(this.path(`events?after_seq=0&limit=1000&subject=${id}`))).body.items;
  }

  async kinds(id: string): Promise<string[]> {
    return (await this.events(id)).map(({ type }) => type);
  }

  async head(): Promise<number> {
    const [row] = await this.sql<{ head: string }>('select head from event_streams where id = $1', [this.city.streamId]);
    return Number(row!.head);
  }

  async close(): Promise<void> {
    await this.runner.stop();
    await this.client.end();
    await this.stack.stop();
  }
}

/** Does what a runner is asked to do, as far as its sessions' rows are concerned. */
export class StandIn {
  static readonly id = 'stand-in';
  #loop: Promise<void> | undefined;
  #stopped = false;
  /** What it has carried out, in order. */
  readonly done: string[] = [];

  constructor(
    private readonly stack: Stack,
    private readonly city: CityScope,
    private readonly sql: Sql,
    private readonly changes: SessionChangesService,
  ) {}

  async register(): Promise<void> {
    await this.sql(
      `insert into runners (id, process_id, host, capacity, state, lease_until) values ($1, 'p', 'h', 0, 'active', now() + interval '1 day')`,
      [StandIn.id],
    );
  }

  /** From now on wishes are carried out and commands are answered. */
  serve(answer: { readonly command?: string } = {}): void {
    this.#stopped = false;
    this.#loop = (async () => {
      while (!this.#stopped) {
        for (const { pk } of await this.#wishes()) await this.carryOut(Number(pk));
        await this.sql(
          `update session_commands set status = $1, error = $2 where status = 'waiting'`,
          answer.command === undefined ? ['done', null] : ['failed', answer.command],
        );
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    this.#loop = undefined;
  }

  /** The process is dead: what was asked for happens. */
  async carryOut(pk: number): Promise<SessionRow | undefined> {
    return this.changes.runInAnyState(this.city, 'runner', async (changes) => {
      const row = await changes.lock(pk);
      if (row === undefined || row.stop_request === null) return row;
      this.done.push(row.stop_request);
      const gone = {
        runner_id: null,
        live: false,
        stop_request: null,
        stop_reason: null,
        stop_deadline: null,
      } as const satisfies SessionPatch;
      if (row.stop_request === 'close') return changes.close(row, 'operator');
      if (!['creating', 'active', 'draining'].includes(row.state)) return changes.patch(row, gone);
      return changes.move(row, 'sleep', { reason: row.stop_reason, set: { ...gone, ...also(row.stop_request) } });
    });
  }

  /** A start, from the claim to the readiness. */
  async start(id: string, ready = true): Promise<void> {
    await this.changes.runInAnyState(this.city, 'runner', async (changes) => {
      const [{ pk }] = (await this.sql<{ pk: string }>('select pk from sessions where id = $1', [id])) as [{ pk: string }];
      let row = (await changes.lock(Number(pk)))!;
      row = await changes.move(row, 'start', {
        set: { runner_id: StandIn.id, generation: row.generation + 1, wake_request: null, instance_token: 'token' },
      });
      if (ready) await changes.move(row, 'ready', { reason: null, set: { live: true, ready_at: new Date() } });
    });
  }

  async within<T>(
    id: string,
    body: (changes: Parameters<Parameters<SessionChangesService['runInAnyState']>[2]>[0], row: SessionRow) => Promise<T>,
  ): Promise<T> {
    const [row] = await this.sql<{ pk: string }>('select pk from sessions where id = $1', [id]);
    return this.changes.runInAnyState(this.city, 'runner', async (changes) => body(changes, (await changes.lock(Number(row!.pk)))!));
  }

  /** The next message reaches the process. */
  async deliver(id: string): Promise<void> {
    const queue = this.stack.apps[1]!.app.get(MessageQueue, { strict: false });
    const taken = await this.within(id, async (changes, row) => {
      const next = await queue.next(changes, row);
      return next && queue.inFlight(changes, row, next.pk);
    });
    if (taken !== undefined) await this.within(id, (changes, row) => queue.delivered(changes, row, taken.pk));
  }

  /** Waits until somebody wishes something of a session. */
  async asked(id: string): Promise<string> {
    let found: string | undefined;
    await eventually(async () => {
      const [row] = await this.sql<{ stop_request: string | null }>('select stop_request from sessions where id = $1', [id]);
      found = row?.stop_request ?? undefined;
      return found !== undefined;
    });
    return found!;
  }

  async #wishes(): Promise<{ pk: string }[]> {
    return this.sql('select pk from sessions where stop_request is not null and runner_id = $1', [StandIn.id]);
  }
}

function also(request: StopRequest): SessionPatch {
  if (request !== 'reset') return {};
  return { reset_pending: true, wake_request: 'reset', wake_requested_at: new Date() };
}
