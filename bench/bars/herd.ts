import type { Seen } from '../clients/herd.js';
import type { Child } from '../lib/child.js';
import { WARM_SECONDS, type Bar, type Context } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { cpuSeconds, rssKb, sleep, treeSeconds } from '../lib/machine.js';
import { createPublisher, publishFor, type Publisher } from '../lib/publishers.js';
import { count, ms, type Line } from '../lib/report.js';
import type { Service } from '../lib/service.js';
import { quantile, sum } from '../lib/stats.js';

const REPLICAS = 3;
const CLIENTS = 2;
const WARM = 300;
const EVENTS_PER_SECOND = 50;
const PAYLOAD = 200;
/** Followers of the few cities that everybody looks at; the others are spread evenly. */
const HOT_SHARE = 0.3;
const CHURN_SHARE = 0.1;
const BACK_WITHIN_MS = 20_000;
const SETTLE_MS = 2_000;

interface Size {
  readonly streams: number;
  readonly cities: number;
  readonly hot: number;
  readonly seconds: number;
  readonly afterMs: number;
}

const WHOLE: Size = { streams: 10_000, cities: 1_000, hot: 20, seconds: 20, afterMs: 60_000 };
const QUICK: Size = { streams: 2_000, cities: 200, hot: 4, seconds: 8, afterMs: 20_000 };

type Memory = Pick<NodeJS.MemoryUsage, 'heapTotal' | 'heapUsed' | 'external'>;

export const herd: Bar = {
  ids: ['herd'],
  title: `${count(WHOLE.streams)} streams over ${REPLICAS} replicas, a tenth of them reconnecting each second`,
  async run(context) {
    // What `--quick` asks for.
    const size = context.rounds < 5 ? QUICK : WHOLE;
    const url = await context.postgres.database(size.cities);
    const services: Service[] = [];
    for (let n = 0; n < REPLICAS; n++) services.push(await context.service(url, { core: undefined }));
    const clients: Child[] = [];
    for (let n = 0; n < CLIENTS; n++) clients.push(await context.client('herd', undefined));
    const stage = new Stage(context, size, url, services, clients);
    try {
      return await stage.play();
    } finally {
      await stage.publisher?.close();
    }
  },
};

/** What a phase took, and what was delivered in it. */
interface Phase {
  readonly seen: Seen;
  readonly p50: number;
  readonly p99: number;
  readonly cores: Readonly<Record<'replicas' | 'clients' | 'database', number>>;
}

class Stage {
  publisher: Publisher | undefined;

  constructor(
    private readonly context: Context,
    private readonly size: Size,
    private readonly url: string,
    private readonly services: readonly Service[],
    private readonly clients: readonly Child[],
  ) {}

  async play(): Promise<Line[]> {
    const { size } = this;
    this.publisher = await createPublisher({ kind: 'log', url: this.url, cities: this.#told(), bytes: PAYLOAD });
    // The first pay for what is compiled and allocated once.
    await this.#open(WARM);
    await this.#leave();
    const before = await this.#memory();
    await this.#open(size.streams);
    await this.#publish(2);
    const open = await this.#memory(false);
    // Of a fresh process the slowest reconnects are the first.
    await this.#phase(WARM_SECONDS, size.streams * CHURN_SHARE);
    const calm = await this.#phase(size.seconds);
    const connections = await this.#connections();
    const churned = await this.#phase(size.seconds, size.streams * CHURN_SHARE);
    const behind = await this.#behind();
    const busy = await this.#memory(false);
    await this.#leave();
    await sleep(size.afterMs);
    const unforced = this.#rss();
    const after = await this.#memory();
    return this.#lines({ calm, churned, behind, connections, before, open, busy, unforced, after });
  }

  #lines(r: {
    calm: Phase;
    churned: Phase;
    behind: number;
    connections: number;
    before: Held;
    open: Held;
    busy: Held;
    unforced: number;
    after: Held;
  }): Line[] {
    const { size } = this;
    const { calm, churned } = r;
    const line = (what: string, ours: string, rest: Partial<Line> = {}): Line => ({
      bar: 'herd',
      what,
      ours,
      floor: '',
      reach: '',
      ...rest,
    });
    const cores = ({ cores: { replicas, clients, database } }: Phase): string =>
      `${replicas.toFixed(2)}, ${database.toFixed(2)}, ${clients.toFixed(2)}`;
    const ratio = churned.p99 / calm.p99;
    const { missed, gaps, doubles, wrongBookmarks, lost, example, backs } = churned.seen;
    if (example !== undefined) this.context.say(example);
    const wrong = gaps + doubles + wrongBookmarks + r.behind;
    const kept = r.unforced - r.before.rss;
    const mb = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
    return [
      line(`delivery p99 with ${count(size.streams * CHURN_SHARE)} reconnects/s, against calm`, ms(churned.p99), {
        floor: ms(calm.p99),
        ratio,
        reach: '≤ 2',
        met: ratio <= 2,
      }),
      line('the same, p50', ms(churned.p50), { floor: ms(calm.p50), ratio: churned.p50 / calm.p50 }),
      line(`back in its place: p50, p99 of ${count(backs.length)}`, `${ms(quantile(backs, 0.5))}, ${ms(quantile(backs, 0.99))}`),
      line(`gaps, doubles, wrong bookmarks, never there (${count(missed)} events caught up, ${lost} streams cut)`, `${wrong}`, {
        reach: '0',
        met: wrong === 0,
      }),
      line('cores of replicas, database, clients', cores(churned), { floor: cores(calm) }),
      line(`connections to the database, of ${REPLICAS} replicas`, String(r.connections)),
      line(`memory of the replicas: with the streams, after the reconnects`, `${mb(r.open.rss)}, ${mb(r.busy.rss)}`, {
        floor: `${mb(r.before.rss)} (before)`,
      }),
      line(`${size.afterMs / 1_000} s after all have left, above the start`, mb(kept), { reach: '≤ 60 MB', met: kept <= 60 * 2 ** 20 }),
      line(
        'the same after a collection: resident; heap, used of it, external',
        `${mb(r.after.rss - r.before.rss)}; ${r.after.above(r.before, mb)}`,
      ),
    ];
  }

  /** Cities as events are for them: hot ones and others in turn. */
  #told(): string[] {
    const { cities, hot } = this.size;
    return Array.from({ length: cities - hot }, (_, i) => [cityName(1 + (i % hot)), cityName(1 + hot + i)]).flat();
  }

  async #open(streams: number): Promise<void> {
    const { cities, hot } = this.size;
    const ports = this.services.map(({ port }) => port);
    const city = (i: number): string => cityName(i < streams * HOT_SHARE ? 1 + (i % hot) : 1 + hot + (i % (cities - hot)));
    const all = Array.from({ length: streams }, (_, i) => city(i));
    await Promise.all(this.clients.map((client, n) => client.call('open', { ports, cities: all.filter((_, i) => i % CLIENTS === n) })));
  }

  #publish(seconds: number): Promise<number> {
    return publishFor(seconds, EVENTS_PER_SECOND, (n) => this.publisher!.publish(n));
  }

  async #phase(seconds: number, perSecond = 0): Promise<Phase> {
    await Promise.all(this.clients.map((client) => client.call('reset')));
    const used = (): Phase['cores'] => ({
      replicas: sum(this.services.map(({ pid }) => cpuSeconds(pid))),
      clients: sum(this.clients.map(({ pid }) => cpuSeconds(pid))),
      database: treeSeconds(this.context.postgres.pid),
    });
    const before = used();
    const churning = this.clients.map((client) => client.call('churn', { perSecond: perSecond / CLIENTS, seconds }));
    await this.#publish(seconds);
    const after = used();
    await Promise.all(churning);
    await this.publisher!.idle();
    const seen = together(await Promise.all(this.clients.map((client) => client.call<Seen>('read'))));
    const core = (of: keyof Phase['cores']): number => (after[of] - before[of]) / seconds;
    return {
      seen,
      p50: quantile(seen.latencies, 0.5),
      p99: quantile(seen.latencies, 0.99),
      cores: { replicas: core('replicas'), clients: core('clients'), database: core('database') },
    };
  }

  /** How many followers do not come to the head of their city, once nothing more is said. */
  async #behind(): Promise<number> {
    const heads = await withClient(this.url, async (client) =>
      Object.fromEntries(
        (await client.query<{ name: string; head: string }>('select name, head from event_streams')).rows.map((row) => [
          row.name,
          Number(row.head),
        ]),
      ),
    );
    const limit = Date.now() + BACK_WITHIN_MS;
    for (;;) {
      const behind = sum(await Promise.all(this.clients.map((client) => client.call<number>('behind', { heads }))));
      if (behind === 0 || Date.now() > limit) return behind;
      await sleep(100);
    }
  }

  async #connections(): Promise<number> {
    const text = 'select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
    // One of them is the publisher's.
    return withClient(this.url, async (client) => (await client.query<{ n: number }>(text)).rows[0]!.n - 1);
  }

  async #leave(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.call('leave')));
  }

  #rss(): number {
    return sum(this.services.map(({ pid }) => rssKb(pid) * 1024));
  }

  /** With `collected` after a collection, so that what nobody needs is not taken for held. */
  async #memory(collected = true): Promise<Held> {
    if (!collected) return new Held(this.#rss(), []);
    await sleep(SETTLE_MS);
    const each = await Promise.all(this.services.map(({ child }) => child.call<Memory>('collect')));
    await sleep(SETTLE_MS / 4);
    return new Held(this.#rss(), each);
  }
}

class Held {
  constructor(
    /** Bytes, of all replicas together. */
    readonly rss: number,
    private readonly each: readonly Memory[],
  ) {}

  above(before: Held, mb: (bytes: number) => string): string {
    const more = (of: keyof Memory): string => mb(sum(this.each.map((m) => m[of])) - sum(before.each.map((m) => m[of])));
    return `${more('heapTotal')}, ${more('heapUsed')}, ${more('external')}`;
  }
}

function together(all: readonly Seen[]): Seen {
  const total = (of: 'events' | 'missed' | 'gaps' | 'doubles' | 'wrongBookmarks' | 'lost'): number => sum(all.map((seen) => seen[of]));
  return {
    events: total('events'),
    latencies: all.flatMap(({ latencies }) => latencies),
    backs: all.flatMap(({ backs }) => backs),
    missed: total('missed'),
    gaps: total('gaps'),
    doubles: total('doubles'),
    wrongBookmarks: total('wrongBookmarks'),
    lost: total('lost'),
    example: all.find(({ example }) => example !== undefined)?.example,
  };
}
