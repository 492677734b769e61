import { sql } from 'kysely';
import { ConfigFixture } from '../../../../../test/support/config-fixture.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import type { Idempotency } from '../../../../platform/idempotency/idempotency.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import { Following } from '../../../configuration/config/following.js';
import { FollowingRepository } from '../../../configuration/config/following.repository.js';
import { EffectiveSuspension } from '../../../sessions/launch/effective-suspension.service.js';
import type { Signals } from '../../../../platform/streams/signals.js';
import { RosterRepository } from '../../../configuration/roster/roster.repository.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import { Firings } from '../firings.service.js';
import { FiringsRepository } from '../firings.repository.js';
import { OrderEvaluator } from '../order-evaluator.js';
import { OpenFiringsRepository } from '../open-firings.repository.js';
import { OrderRunsService } from '../order-runs.service.js';
import { OrderSweeper } from '../order-sweeper.js';
import { OrderSync } from '../order-sync.js';
import { OrderSyncRepository } from '../order-sync.repository.js';
import { OrderTimes } from '../order-times.js';
import { ordersOf } from '../order-definition.js';
import { DeliveriesRepository } from '../webhooks/deliveries.repository.js';
import type { ClaimedFiring, FiringKind, FiringRow } from '../order-rows.js';

/** A clock that a test moves; without a time of its own it is the database's. */
class MovedTimes extends OrderTimes {
  at: Date | undefined;

  override async now(tx?: Tx): Promise<Date> {
    return this.at ?? super.now(tx);
  }
}

/** One process's worth of firing orders. */
export class OrderProcess {
  readonly db: Db;
  readonly transactions: Transactions;
  readonly repository: FiringsRepository;
  readonly times: MovedTimes;
  readonly firings: Firings;
  readonly sync: OrderSync;
  readonly syncing: OrderSyncRepository;
  readonly evaluator: OrderEvaluator;
  readonly sweeper: OrderSweeper;
  readonly runs: OrderRunsService;
  readonly failpoints = new Failpoints();

  constructor(fixture: ConfigFixture, { url = fixture.database.url, connections = 6 } = {}) {
    this.db = createDb(createPool(url, { max: connections }));
    this.transactions = new Transactions(this.db, this.failpoints);
    this.repository = new FiringsRepository(this.db);
    this.times = new MovedTimes(this.repository);
    const log = new AppLogger(createLogger('silent'));
    const events = new EventLog(new MovedStreams());
    const signals = { mark: () => undefined } as unknown as Signals;
    this.firings = new Firings(this.repository, this.transactions, events, signals, this.times);
    const { reads } = fixture.a;
    this.syncing = new OrderSyncRepository(this.db);
    const roster = new RosterService(new RosterRepository(this.db));
    const suspension = new EffectiveSuspension(roster, reads);
    const following = new Following(new FollowingRepository(this.db), reads, this.transactions, log);
    this.sync = new OrderSync(this.syncing, following, this.times);
    const deliveries = new DeliveriesRepository(this.db);
    const { repository, syncing, firings, transactions, times } = this;
    this.evaluator = new OrderEvaluator(repository, syncing, firings, deliveries, suspension, reads, transactions, events, times, log);
    this.sweeper = new OrderSweeper(repository, firings, log);
    const open = new OpenFiringsRepository();
    this.runs = new OrderRunsService(reads, firings, repository, open, suspension, transactions, {} as Idempotency, events, times);
  }

  take(worker = 'worker', room = 100, kind: FiringKind = 'command', open = room): Promise<ClaimedFiring[]> {
    return this.transactions.run((tx) => this.repository.claim(tx, kind, worker, { room, open }, 60_000));
  }

  /** When an order is looked at next, in whatever city. */
  async nextLook(): Promise<Date | undefined> {
    const { rows } = await sql<{ at: Date | null }>`select min(look_at) as at from orders`.execute(this.db);
    return rows[0]?.at ?? undefined;
  }
}

/** A city with orders, and two processes that fire them. */
export class OrderFixture {
  #narrow: OrderProcess | undefined;

  private constructor(
    readonly fixture: ConfigFixture,
    readonly a: OrderProcess,
    readonly b: OrderProcess,
  ) {}

  static async open(orders: Readonly<Record<string, string>>): Promise<OrderFixture> {
    const fixture = await ConfigFixture.open();
    const opened = new OrderFixture(fixture, new OrderProcess(fixture), new OrderProcess(fixture));
    await opened.write(orders);
    return opened;
  }

  get city(): ConfigFixture['city'] {
    return this.fixture.city;
  }

  /** Has the files say this of orders, and has it followed. */
  async write(orders: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(orders)) await this.fixture.write(`orders/${name}.toml`, `[order]\n${text}\n`);
    await this.fixture.a.reloads.reload(this.city, 'files', 'test');
    await this.a.sync.follow();
  }

  /** One more process, with no more than one connection; whoever wants another one learns soon that there is none. */
  narrow(): OrderProcess {
    const address = new URL(this.fixture.database.url);
    address.searchParams.set('connect_timeout', '5');
    return (this.#narrow ??= new OrderProcess(this.fixture, { url: address.href, connections: 1 }));
  }

  /** Both processes' clocks. */
  set now(at: Date) {
    this.a.times.at = at;
    this.b.times.at = at;
  }

  /** Somebody has an order run. */
  run(name: string, force = false): Promise<string> {
    return this.a.transactions.run(async (tx) => {
      const { config } = (await this.fixture.a.reads.known(this.city, tx))!;
      const order = ordersOf(config).orders.find((each) => each.name === name)!;
      const asked = { actor: 'ada', cause: 'run', reason: 'run by ada', vars: {}, force } as const;
      return (await this.a.runs.fire(tx, this.city, order, asked)).id;
    });
  }

  firings(): Promise<FiringRow[]> {
    return sql<FiringRow>`select * from order_firings order by pk`.execute(this.a.db).then(({ rows }) => rows);
  }

  async told(): Promise<string[]> {
    const rows = await this.fixture.sql<{ type: string; subject: string }>(
      `select type, subject from events where type like 'order.%' order by seq`,
    );
    return rows.map(({ type, subject }) => `${type} ${subject}`);
  }

  async close(): Promise<void> {
    await Promise.all([this.a.db.destroy(), this.b.db.destroy(), this.#narrow?.db.destroy()]);
    await this.fixture.close();
  }
}
