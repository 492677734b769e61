import { sql } from 'kysely';
import { ANYBODY, type Principal } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { cloneDatabase } from '../../../../../test/support/database.js';
import { registerCity } from '../../../../../test/support/registry.js';
import type { AppConfig } from '../../../../platform/config/config.js';
import { createDb, createPool, type Db, type PgPool } from '../../../../platform/database/database.js';
import type { DuePoller } from '../../../../platform/database/due-poller.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { Idempotency } from '../../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../../platform/idempotency/idempotency.repository.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import type { OperationDispatcher } from '../../../../platform/operations/dispatcher.js';
import { OperationEndings } from '../../../../platform/operations/endings.js';
import { OperationClaims } from '../../../../platform/operations/operation-claims.js';
import { OperationMetrics } from '../../../../platform/operations/operation-metrics.js';
import { Operations } from '../../../../platform/operations/operations.js';
import { OperationClaimsRepository } from '../../../../platform/operations/operation-claims.repository.js';
import { OperationsRepository } from '../../../../platform/operations/operations.repository.js';
import { DeclaredKinds, OperationRegistry } from '../../../../platform/operations/registry.js';
import { OperationRunner } from '../../../../platform/operations/runner.js';
import { OperationSweeper } from '../../../../platform/operations/sweeper.js';
import { OperationTimings } from '../../../../platform/operations/timings.js';
import type { HintListener } from '../../../../platform/streams/listener.js';
import { Signals } from '../../../../platform/streams/signals.js';
import type { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { InteractionsRepository } from '../../interactions/interactions.repository.js';
import { Interactions } from '../../interactions/interactions.service.js';
import { ResponsesService } from '../../interactions/responses.service.js';
import type { EffectiveSuspension } from '../../launch/effective-suspension.service.js';
import type { SessionChanges } from '../../session-store/session-changes.js';
import { SessionChangesService } from '../../session-store/session-changes.service.js';
import type { SessionResolver } from '../../session-names/session-resolver.service.js';
import type { NewSession, SessionPatch, SessionRow } from '../../session-store/session-row.js';
import { SessionStore } from '../../session-store/session-store.repository.js';
import { SessionAnswers } from '../../sessions/session-answers.service.js';
import { SessionByIdRepository } from '../../sessions/session-by-id.repository.js';
import { SessionViewsRepository } from '../../sessions/session-views.repository.js';
import { WorkRepository } from '../../../work/work/work.repository.js';
import { WorkService } from '../../../work/work/work.service.js';
import { MessageListService } from '../message-list.service.js';
import { MessageQueueRepository } from '../message-queue.repository.js';
import { MessageQueue } from '../message-queue.service.js';
import type { MessageRow } from '../message-row.js';
import { MessagesReconciler } from '../messages.reconciler.js';
import { MessagesService } from '../messages.service.js';

/** A session of an agent that nobody has started. */
export const MAYOR: NewSession = {
  title: 'x',
  kind: 'agent',
  template: 'mayor',
  agent: 'mayor',
  provider: 'loopback',
  transport: 'acp',
  origin: 'manual',
  created_by: 'maker',
};

/** What one process has, over a pool of its own. */
export interface SessionProcess {
  readonly sessions: SessionChangesService;
  readonly answers: SessionAnswers;
  readonly queue: MessageQueue;
  readonly messages: MessagesService;
  readonly list: MessageListService;
  readonly interactions: Interactions;
  readonly responses: ResponsesService;
  readonly reconciler: MessagesReconciler;
  /** Of operations past their deadline. */
  readonly sweeper: OperationSweeper;
  readonly operations: Operations;
  /** Topics that were signalled. */
  readonly signalled: string[];
}

export interface LoggedEvent {
  readonly seq: number;
  readonly type: string;
  readonly actor: string;
  readonly subject: string | null;
  readonly payload: Record<string, unknown>;
}

export interface SessionFixture {
  readonly db: Db;
  /** Of the two processes. */
  readonly pools: readonly PgPool[];
  /** A running city `alpha` (prefix `al`). */
  readonly city: CityScope;
  readonly a: SessionProcess;
  readonly b: SessionProcess;
  /** Why agents are suspended, as the messages family is told. */
  suspension: string | undefined;
  /** A new session; with `state` brought there, `active` and `draining` ones with a process of the runner `r1`. */
  session(state?: string, set?: Readonly<Record<string, unknown>>): Promise<SessionRow>;
  /** Columns of a session, as they are said; text, numbers, booleans, times and null only. */
  set(pk: number, columns: Readonly<Record<string, unknown>>): Promise<void>;
  row(pk: number): Promise<SessionRow>;
  /** In a transaction with the session locked. */
  within<T>(pk: number, body: (changes: SessionChanges, row: SessionRow) => Promise<T>, at?: SessionProcess): Promise<T>;
  /** The process is gone. */
  lose(pk: number, at?: SessionProcess): Promise<void>;
  close(pk: number, at?: SessionProcess): Promise<void>;
  /** What a runner does with the next message, up to its delivery. */
  deliverNext(pk: number, at?: SessionProcess): Promise<MessageRow | undefined>;
  send(session: SessionRow, text: string, at?: SessionProcess, key?: string): Promise<string>;
  submit(session: SessionRow, text: string, intent?: 'default' | 'follow_up' | 'interrupt_now', at?: SessionProcess): Promise<string>;
  statuses(pk: number): Promise<string[]>;
  events(above?: number): Promise<LoggedEvent[]>;
  /** Terminal events of a request. */
  terminals(requestId: string): Promise<LoggedEvent[]>;
  stop(): Promise<void>;
}

const LIVE = new Set(['active', 'draining']);
const HELD = new Set(['creating', ...LIVE]);

/** Stand-ins without a guard, to see that a test can fail. */
export interface Twins {
  readonly messages?: MessageQueueRepository;
  readonly operations?: OperationsRepository;
}

/** A database with a city, its sessions, and two processes that work on them. */
export async function sessionFixture(twins: Twins = {}): Promise<SessionFixture> {
  const database = await cloneDatabase();
  const pools = [createPool(database.url), createPool(database.url)];
  const [db] = pools.map((pool) => createDb(pool)) as [Db, Db];
  const city = await registerCity(db, 'alpha', '/alpha');
  await sql`insert into rigs (stream_id, name, prefix, position) values (${city.streamId}, '', 'al', 0)`.execute(db);
  await sql`insert into runners (id, process_id, host, capacity, state, lease_until)
    values ('r1', 'p1', 'h', 10, 'active', now() + interval '1 hour')`.execute(db);
  const store = new SessionStore();
  const state: { suspension: string | undefined } = { suspension: undefined };
  const resolver = {
    resolve: async (_city: CityScope, text: string): Promise<SessionRow> => {
      const found = await sql<{ pk: number }>`select pk from sessions where id = ${text}`.execute(db);
      const row = found.rows[0] && (await store.find(db, city.streamId, found.rows[0].pk));
      if (row === undefined) throw problem('session_not_found', `session ${text} not found`);
      return row;
    },
  } as unknown as SessionResolver;
  const suspension = { blockerOf: () => Promise.resolve(state.suspension) } as unknown as EffectiveSuspension;
  const [a, b] = pools.map((pool, i) => processOn(createDb(pool), pool, `p${i + 1}`, { resolver, suspension, store, twins })) as [
    SessionProcess,
    SessionProcess,
  ];

  const row = async (pk: number): Promise<SessionRow> => (await store.find(db, city.streamId, pk))!;
  const set: SessionFixture['set'] = async (pk, columns) => {
    for (const [column, value] of Object.entries(columns))
      await sql`update sessions set ${sql.ref(column)} = ${value} where pk = ${pk}`.execute(db);
    await sql`update session_logs l set generation = s.generation from sessions s where s.pk = ${pk} and l.session_pk = s.pk`.execute(db);
  };
  const within: SessionFixture['within'] = (pk, body, at = a) =>
    at.sessions.runInAnyState(city, 'runner', async (changes) => body(changes, (await changes.lock(pk))!));
  const events: SessionFixture['events'] = async (above = 0) =>
    (
      await sql<LoggedEvent>`select seq, type, actor, subject, payload from events where stream_id = ${city.streamId} and seq > ${above} order by seq`.execute(
        db,
      )
    ).rows;
  const accepted = async (caller: Principal, submit: (caller: Principal) => Promise<{ request_id: string }>): Promise<string> =>
    (await submit(caller)).request_id;
  return {
    db,
    pools,
    city,
    a,
    b,
    get suspension() {
      return state.suspension;
    },
    set suspension(why) {
      state.suspension = why;
    },
    session: async (to = 'active', more = {}) => {
      const made = await a.sessions.runInAnyState(city, 'maker', (changes) => changes.create(MAYOR));
      await set(made.pk, {
        ...(HELD.has(to) ? { runner_id: 'r1', generation: 1 } : {}),
        ...(LIVE.has(to) ? { live: true } : {}),
      });
      if (to === 'closed') await sql`update sessions set state = 'closed', closed_at = now() where pk = ${made.pk}`.execute(db);
      else await set(made.pk, { state: to, ...more });
      return row(made.pk);
    },
    set,
    row,
    within,
    lose: async (pk, at) => {
      await within(
        pk,
        (changes, s) => changes.move(s, 'sleep', { reason: 'crashed', set: { runner_id: null, live: false } satisfies SessionPatch }),
        at,
      );
    },
    close: async (pk, at) => {
      await within(pk, (changes, s) => changes.close(s, 'operator'), at);
    },
    deliverNext: async (pk, at = a) => {
      const taken = await within(
        pk,
        async (changes, s) => {
          const next = await at.queue.next(changes, s);
          return next && at.queue.inFlight(changes, s, next.pk);
        },
        at,
      );
      if (taken !== undefined) await within(pk, (changes, s) => at.queue.delivered(changes, s, taken.pk), at);
      return taken;
    },
    send: (session, text, at = a, key) => accepted(ANYBODY, (caller) => at.messages.send(city, session.id, { message: text }, key, caller)),
    submit: (session, text, intent, at = a) =>
      accepted(ANYBODY, (caller) =>
        at.messages.submit(city, session.id, { message: text, ...(intent === undefined ? {} : { intent }) }, undefined, caller),
      ),
    statuses: async (pk) =>
      (await sql<{ status: string }>`select status from session_messages where session_pk = ${pk} order by pk`.execute(db)).rows.map(
        ({ status }) => status,
      ),
    events,
    terminals: async (requestId) => (await events()).filter((e) => e.type.startsWith('request.') && e.payload.request_id === requestId),
    stop: async () => {
      for (const pool of pools) await pool.end();
      await database.drop();
    },
  };
}

function processOn(
  db: Db,
  pool: PgPool,
  name: string,
  { resolver, suspension, store, twins }: { resolver: SessionResolver; suspension: EffectiveSuspension; store: SessionStore; twins: Twins },
): SessionProcess {
  const log = new AppLogger(createLogger('silent'));
  const lifecycle = new Lifecycle(log);
  const failpoints = new Failpoints();
  const moved = new MovedStreams();
  const transactions = new Transactions(db, failpoints);
  const eventLog = new EventLog(moved);
  const signals = new Signals(moved, { listen: () => () => undefined } as unknown as HintListener, lifecycle);
  signals.onModuleInit();
  const signalled: string[] = [];
  signals.onTopics((topics) => signalled.push(...(topics === 'all' ? ['all'] : topics)));
  const work = new WorkService(transactions, eventLog, new WorkRepository());
  const sessions = new SessionChangesService(transactions, eventLog, store, work, signals);
  const unconfigured = { known: () => Promise.resolve(undefined) } as unknown as ConfigReadsService;
  const answers = new SessionAnswers(new SessionViewsRepository(db), new SessionByIdRepository(db, pool), unconfigured, sessions);
  answers.onModuleInit();
  const metrics = new Metrics();
  const registry = new OperationRegistry(new DeclaredKinds());
  const operationRows = twins.operations ?? new OperationsRepository();
  const dispatcher = { dispatch: () => undefined } as unknown as OperationDispatcher;
  const counts = new OperationMetrics(metrics);
  const operations = new Operations(operationRows, dispatcher, registry, counts, db, metrics);
  const idempotency = new Idempotency(new IdempotencyRepository());
  const repository = twins.messages ?? new MessageQueueRepository();
  const queue = new MessageQueue(repository, operations, sessions);
  queue.onModuleInit();
  const questions = new InteractionsRepository();
  const interactions = new Interactions(questions, sessions);
  interactions.onModuleInit();
  const reconciler = new MessagesReconciler(db, operations, sessions, queue, repository, log, {} as DuePoller);
  reconciler.onModuleInit();
  const config = { processId: name } as AppConfig;
  const timings = new OperationTimings();
  const endings = new OperationEndings(operationRows, transactions, eventLog, failpoints, log, counts);
  const claimRows = new OperationClaimsRepository();
  const claims = new OperationClaims(config, claimRows, registry, db, timings);
  const runner = new OperationRunner(claims, operationRows, registry, endings, db, failpoints, timings, log);
  return {
    sessions,
    answers,
    queue,
    messages: new MessagesService(db, resolver, suspension, sessions, queue, repository, operations, idempotency),
    list: new MessageListService(db, resolver, sessions, queue, repository),
    interactions,
    responses: new ResponsesService(db, resolver, sessions, interactions, questions, idempotency, eventLog),
    reconciler,
    sweeper: new OperationSweeper(config, db, claimRows, runner, registry, failpoints, timings, log),
    operations,
    signalled,
  };
}
