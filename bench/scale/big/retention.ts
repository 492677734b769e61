import type { Child } from '../../lib/child.js';
import type { GroupResult } from '../../clients/http.js';
import type { Context } from '../../lib/context.js';
import { cityName, withClient } from '../../lib/database.js';
import { count, ms, type Line } from '../../lib/report.js';
import { EMIT_BODY, post } from '../../lib/requests.js';
import { createDb, createPool } from '../../../src/platform/database/database.js';
import { Transactions } from '../../../src/platform/database/transactions.js';
import { EventPartitions } from '../../../src/platform/event-log/partitions.js';
import { PartitionRotation } from '../../../src/platform/event-log/partition-rotation.js';
import { EventSegments } from '../../../src/platform/event-log/segments.js';
import { Failpoints } from '../../../src/platform/failpoints/failpoints.js';
import type { Side } from './measure.js';

/** What is older goes: of ninety days two parts of fifteen. */
const KEPT_MS = 60 * 86_400_000;
const BAR_S = 10;
/** Batches of rows, as they were deleted before the log had parts. */
const BATCHES = 25;
const BATCH = 2_000;
const WRITES = 100;
const WRITE_S = 8;

interface Held {
  readonly bytes: number;
  readonly events: number;
  readonly dead: number;
}

/** Drops a month of the log while others write and follow. */
export async function retention(context: Context, { url, service }: Side): Promise<Line[]> {
  const client = await context.client('http');
  const follower = await context.client('sse');
  const pool = createPool(url, { max: 4 });
  const db = createDb(pool);
  const transactions = new Transactions(db, new Failpoints());
  const rotation = new PartitionRotation(transactions, new EventPartitions());
  const held = (): Promise<Held> =>
    withClient(url, async (one) => {
      const { rows } = await one.query<Record<keyof Held, string>>(
        `select sum(pg_total_relation_size(c.oid)) as bytes, sum(greatest(c.reltuples, 0)) as events, sum(pg_stat_get_dead_tuples(c.oid)) as dead
         from pg_class c where c.relkind = 'r' and c.relname ~ '^events(_[0-9]+.*|_rest)?$'`,
      );
      return { bytes: Number(rows[0]!.bytes), events: Number(rows[0]!.events), dead: Number(rows[0]!.dead) };
    });
  const path = `/v0/city/${cityName(1)}/events`;
  try {
    await follower.call('open', { group: 'live', count: 5, port: service.port, path: `${path}/stream`, mark: '"seq":' });
    const calm = await writing(client, service.port, path);
    const rowwise = await byRows(transactions, url);
    const before = await held();
    const busy = writing(client, service.port, path);
    rotation.graceMs = Number.MAX_SAFE_INTEGER;
    const floors = await seconds(() => rotation.round(KEPT_MS));
    // No readers here that the minute of grace would be for.
    rotation.graceMs = 0;
    let dropped = 0;
    const drop = await seconds(async () => (dropped = (await rotation.round(KEPT_MS)).dropped));
    const meanwhile = await busy;
    const after = await held();
    const { closed } = await follower.call<{ closed: number }>('count', { group: 'live' });
    const old = await fetch(`http://127.0.0.1:${service.port}${path}/stream?after_seq=10`);
    await old.body?.cancel();
    const gone = before.events - after.events;
    context.say(`${gb(before.bytes)} before, ${gb(after.bytes)} after; dead rows ${before.dead}, ${after.dead}; ${dropped} parts`);
    const lines: Line[] = [
      {
        ...{ bar: 'retention', what: `${count(gone)} events of a month in ${dropped} parts: floors, then files` },
        ...{
          ours: `${floors.toFixed(1)} s, ${drop.toFixed(1)} s`,
          floor: '',
          reach: `≤ ${BAR_S} s`,
          met: dropped > 0 && floors + drop <= BAR_S,
        },
      },
      {
        ...{
          bar: 'retention',
          what: 'the same row by row, by what some of them took',
          ours: `${((gone / (BATCHES * BATCH)) * rowwise).toFixed(0)} s`,
        },
        ...{ floor: '', reach: '' },
      },
      {
        ...{ bar: 'retention', what: 'bytes of the log, before and after', ours: gb(after.bytes), floor: gb(before.bytes) },
        ...{ ratio: after.bytes / before.bytes, reach: '≤ 0.7', met: after.bytes / before.bytes <= 0.7 },
      },
      {
        ...{
          bar: 'retention',
          what: `one who emits meanwhile, the slowest of ${count(WRITES * WRITE_S)}`,
          ours: ms(meanwhile.max),
          floor: ms(calm.max),
        },
        ...{ reach: '≤ 1 s', met: meanwhile.max <= 1_000 && Object.keys(meanwhile.statuses).every((status) => status.startsWith('2')) },
      },
      {
        ...{
          bar: 'retention',
          what: 'streams that were open have ended; one from before the log is',
          ours: `${closed}, ${old.status}`,
          floor: '',
        },
        ...{ reach: '0, 410', met: closed === 0 && old.status === 410 },
      },
    ];
    for (const { what, ours, floor } of lines) context.say(`${what}: ${ours}${floor === '' ? '' : ` against ${floor}`}`);
    return lines;
  } finally {
    await db.destroy();
  }
}

async function writing(client: Child, port: number, path: string): Promise<GroupResult> {
  const groups = [{ name: 'emit', connections: 4, requests: [post(port, path, EMIT_BODY)], rate: WRITES }];
  return (await client.call<Record<'emit', GroupResult>>('run', { port, seconds: WRITE_S, groups })).emit;
}

/** Seconds that some batches take of the large city. */
async function byRows(transactions: Transactions, url: string): Promise<number> {
  await withClient(url, (client) =>
    client.query(
      `insert into event_segments (stream_id, first_seq, last_seq) select id, floor + 1, floor + $2::bigint from event_streams where name = $1`,
      [cityName(1), BATCHES * BATCH],
    ),
  );
  const segments = new EventSegments();
  return seconds(async () => {
    while (await transactions.run((tx) => segments.dropOldest(tx, KEPT_MS, BATCH)));
  });
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

const gb = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GB`;
