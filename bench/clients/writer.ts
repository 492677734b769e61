import { loadConfig } from '../../src/platform/config/config.js';
import { createDb, createPool, PgPool } from '../../src/platform/database/database.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { Lifecycle } from '../../src/platform/health/lifecycle.js';
import { Metrics } from '../../src/platform/health/metrics.js';
import { Readiness } from '../../src/platform/health/readiness.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { StreamHub } from '../../src/platform/streams/hub.js';
import { HintListener, ListenUrl } from '../../src/platform/streams/listener.js';
import { Notifier } from '../../src/platform/streams/notifier.js';
import { StreamLogRepository } from '../../src/platform/streams/stream-log.repository.js';
import { EmitRepository } from '../../src/modules/tenancy/events/emit.repository.js';
import { EmitCommitter } from '../../src/modules/tenancy/events/emit-committer.js';
import { driveScript } from '../lib/driver.js';
import { sleep } from '../lib/machine.js';
import { serve } from '../lib/rpc.js';
import { quantile } from '../lib/stats.js';

/** The writing half of one replica and the reading half of another, without HTTP: the service's own rooms, wired by hand. */

const logger = new AppLogger(createLogger('silent'));

interface Rooms {
  readonly committer: EmitCommitter;
  readonly cities: readonly string[];
  /** When each event came into the other replica's hands, by `city:seq`. */
  readonly arrived: Map<string, number>;
  stop(): Promise<void>;
}

let rooms: Rooms | undefined;

async function start({
  url,
  cities,
  notifier,
  reader,
}: {
  url: string;
  cities: string[];
  notifier: boolean;
  reader: boolean;
}): Promise<void> {
  const metrics = new Metrics();
  const lifecycle = new Lifecycle(logger);
  const failpoints = new Failpoints();
  const moved = new MovedStreams();
  const pool = createPool(url, { max: 32 });
  if (notifier) new Notifier(pool, moved, failpoints, lifecycle, logger, metrics).onModuleInit();
  const arrived = new Map<string, number>();
  const other = reader ? await read(url, cities, arrived) : undefined;
  rooms = {
    committer: new EmitCommitter(new EmitRepository(pool), moved, failpoints, metrics),
    cities,
    arrived,
    stop: async () => {
      await lifecycle.stop();
      await other?.();
      await pool.end();
    },
  };
}

async function read(url: string, cities: readonly string[], arrived: Map<string, number>): Promise<() => Promise<void>> {
  const pool: PgPool = createPool(url);
  const metrics = new Metrics();
  const lifecycle = new Lifecycle(logger);
  const listener = new HintListener(new ListenUrl(url), pool, logger, lifecycle, new Readiness(logger), metrics);
  const config = loadConfig({ SVC_DATABASE_URL: url }, '/');
  const hub = new StreamHub(
    config,
    new StreamLogRepository(createDb(pool), pool),
    new MovedStreams(),
    listener,
    logger,
    lifecycle,
    metrics,
  );
  hub.onModuleInit();
  await hub.refresh();
  for (const name of cities) {
    const { channel } = hub.cityGroup(hub.stream(name)!, undefined);
    channel.publish = ({ seq }) => void arrived.set(`${name}:${seq}`, performance.now());
  }
  await sleep(300); // LISTEN is up
  return async () => {
    await lifecycle.stop();
    await pool.end();
  };
}

interface WriteResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** From the commit's answer until the other replica had the rows. */
  readonly rowsP50: number;
  readonly rowsP99: number;
}

let writes = 0;

async function one(latencies: number[], committed: Map<string, number>): Promise<void> {
  const { committer, cities } = rooms!;
  const city = cities[writes++ % cities.length]!;
  const text = `{"stream":"${city}","type":"bench.tick","version":1,"actor":"agent-7","subject":"row-1","payload":{"row_id":7,"title":"write the report"}}`;
  const sent = performance.now();
  const result = await committer.emit(city, text);
  const now = performance.now();
  latencies.push(now - sent);
  committed.set(`${city}:${result.seq}`, now);
}

/** `clients` writers one after another, or with `rate` writes at fixed times. */
async function write(options: { seconds: number; clients?: number; rate?: number }): Promise<WriteResult> {
  const latencies: number[] = [];
  const committed = new Map<string, number>();
  const started = performance.now();
  const over = (): boolean => performance.now() - started >= options.seconds * 1000;
  if (options.rate === undefined) {
    const writer = async (): Promise<void> => {
      while (!over()) await one(latencies, committed);
    };
    await Promise.all(Array.from({ length: options.clients ?? 32 }, writer));
  } else {
    const open = new Set<Promise<void>>();
    for (let sent = 0; !over(); await sleep(1)) {
      for (const due = Math.floor(((performance.now() - started) / 1000) * options.rate); sent < due; sent++) {
        const writing = one(latencies, committed).finally(() => open.delete(writing));
        open.add(writing);
      }
    }
    await Promise.all(open);
  }
  const perSecond = latencies.length / ((performance.now() - started) / 1000);
  await sleep(rooms!.arrived.size > 0 ? 300 : 0);
  const rows: number[] = [];
  for (const [key, at] of committed) {
    const arrived = rooms!.arrived.get(key);
    if (arrived !== undefined) rows.push(arrived - at);
  }
  rooms!.arrived.clear();
  return {
    perSecond,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    rowsP50: quantile(rows, 0.5),
    rowsP99: quantile(rows, 0.99),
  };
}

serve({
  start,
  write,
  script: driveScript,
  stop: async () => {
    await rooms?.stop();
    rooms = undefined;
  },
});
