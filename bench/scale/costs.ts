import { readFileSync } from 'node:fs';
import pg from 'pg';
import { createDb, createPool, type PgPool } from '../../src/platform/database/database.js';
import { HINT_CHANNEL } from '../../src/platform/streams/hint.js';
import { StreamLogRepository } from '../../src/platform/streams/stream-log.repository.js';
import type { BenchPostgres } from '../lib/database.js';
import { cityName, withClient } from '../lib/database.js';
import type { Coefficients } from './model.js';

/**
 * What statements of the product take of a processor of the database: what the kernel says that the backend has run, which is the same
 * whatever else the machine does, apart from its caches. Waiting for the disk and for others is not in it.
 */
export interface Costs extends Coefficients {
  /** One emit of a commit of its own, and one of a hundred that share one. */
  readonly emitUs: number;
  readonly emitOfManyUs: number;
  readonly beadUs: number;
  readonly beadOfManyUs: number;
  readonly readBeadUs: number;
}

const CITIES = 10_000;
const REPEAT = 2_000;

const ranUs = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000;

/** One connection, whose backend is watched. */
class Watched {
  private constructor(
    readonly pool: PgPool,
    private readonly pid: number,
  ) {}

  static async open(url: string): Promise<Watched> {
    const pool = createPool(url, { max: 1 });
    const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    return new Watched(pool, rows[0]!.pid);
  }

  /** Each time, on average, once it has been done often enough to have its plans. */
  async us(times: number, work: (n: number) => Promise<unknown>): Promise<number> {
    for (let n = 0; n < Math.min(20, times); n++) await work(n);
    const before = ranUs(this.pid);
    for (let n = 0; n < times; n++) await work(n + 20);
    return (ranUs(this.pid) - before) / times;
  }
}

const event = (stream: string): object => ({
  ...{ stream, type: 'note.added', version: 1, actor: 'bench', subject: 'part', message: null },
  payload: { text: 'what was found in this part, in words that are about as many as people use' },
});
const bead = (stream: string): object => ({
  bead: {
    title: 'write the report about this part',
    type: 'task',
    labels: ['report'],
    description: 'What was found in it is to be written down. '.repeat(4),
  },
  event: { stream, type: 'bead.created', version: 1, actor: 'bench' },
});
const city = (n: number): string => cityName((n % 1_000) + 1);
const hundred = (make: (stream: string) => object, stream: string): string =>
  JSON.stringify(Array.from({ length: 100 }, () => make(stream)));

export async function costs(postgres: BenchPostgres): Promise<Costs> {
  const url = await postgres.database(CITIES);
  const watched = await Watched.open(url);
  const { pool } = watched;
  const ask = (text: string, values: unknown[]): Promise<pg.QueryResult> => pool.query({ name: text.slice(0, 60), text, values });
  const writes = {
    emitUs: await watched.us(REPEAT, (n) => ask('select * from emit_event($1, $2, true)', [city(n), JSON.stringify(event(city(n)))])),
    emitOfManyUs: (await watched.us(100, (n) => ask("select * from emit_events($1, true, '[]')", [hundred(event, city(n))]))) / 100,
    beadUs: await watched.us(REPEAT, (n) => ask('select * from create_bead($1, $2, true)', [city(n), JSON.stringify(bead(city(n)))])),
    beadOfManyUs: (await watched.us(100, (n) => ask("select * from create_beads($1, true, '[]')", [hundred(bead, city(n))]))) / 100,
    readBeadUs: await watched.us(REPEAT, () =>
      ask('select bead_json(b) from beads b where b.stream_id = (select stream_id from cities where name = $1) and b.id = $2', [
        cityName(1),
        'b-1',
      ]),
    ),
  };
  const reads = await readCosts(watched, url);
  const few = await postgres.database(1);
  const alone = await Watched.open(few);
  const pollUs = await alone.us(400, () => looked(alone));
  await alone.pool.end();
  await pool.end();
  const hints = await hintCosts(url);
  const pollCityUs = (reads.pollUs - pollUs) / CITIES;
  return { ...writes, ...reads, ...hints, pollUs, pollCityUs, writeUs: writes.emitUs, wireUs: 200 };
}

/** As each replica does each second. */
const looked = ({ pool }: Watched): Promise<unknown> =>
  new StreamLogRepository(createDb(pool), pool).recent(Number.MAX_SAFE_INTEGER, undefined);

async function readCosts(
  watched: Watched,
  url: string,
): Promise<Omit<Coefficients, 'notifyUs' | 'listenerUs' | 'wokenUs' | 'writeUs' | 'wireUs' | 'pollCityUs'>> {
  const repository = new StreamLogRepository(createDb(watched.pool), watched.pool);
  const { id, head } = await withClient(url, async (client) => {
    const { rows } = await client.query<{ id: number; head: string }>('select id, head from event_streams order by head desc limit 1');
    return { id: rows[0]!.id, head: Number(rows[0]!.head) };
  });
  const bytes = 4 << 20;
  const one = await watched.us(REPEAT, () => repository.read([{ streamId: id, after: head - 1, upto: head }], 1, bytes));
  const many = Math.min(head, 200);
  const all = await watched.us(200, () => repository.read([{ streamId: id, after: head - many, upto: head }], many, bytes));
  const cursor = (streams: number) => (n: number) =>
    repository.insertCursor(undefined, new Map(Array.from({ length: streams }, (_, i) => [i + 1, n])));
  const [small, large] = [await watched.us(400, cursor(16)), await watched.us(50, cursor(CITIES))];
  const quiet = "update event_streams set last_ts = '-infinity' where id > $1";
  const poll = async (moving: number): Promise<number> => {
    await withClient(url, async (client) => {
      await client.query(`update event_streams set last_ts = now()`);
      await client.query(quiet, [moving]);
      await client.query('vacuum analyze event_streams');
    });
    return watched.us(100, () => looked(watched));
  };
  const [still, moving] = [await poll(0), await poll(CITIES)];
  return {
    ...{ readUs: one, eventUs: Math.max(0, all - one) / Math.max(1, many - 1) },
    ...{ cursorUs: small, cursorStreamUs: (large - small) / (CITIES - 16) },
    ...{ pollUs: still, pollStreamUs: (moving - still) / CITIES },
  };
}

const LISTENERS = [8, 64, 192] as const;

/** What a hint takes of who sends it, which nobody else can do meanwhile, and of each connection that listens. */
async function hintCosts(url: string): Promise<Pick<Coefficients, 'notifyUs' | 'listenerUs' | 'wokenUs'>> {
  const clients: pg.Client[] = [];
  const pids: number[] = [];
  let heard = 0;
  const watched = await Watched.open(url);
  const points: { n: number; sender: number; listener: number }[] = [];
  try {
    for (const n of LISTENERS) {
      while (clients.length < n) {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        client.on('notification', () => heard++);
        await client.query(`listen ${HINT_CHANNEL}`);
        pids.push((await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid);
        clients.push(client);
      }
      const times = 400;
      const before = pids.reduce((sum, pid) => sum + ranUs(pid), 0);
      const sender = await watched.us(times, async (k) => {
        const wanted = heard + n;
        await watched.pool.query({ name: 'notify', text: 'select pg_notify($1, $2)', values: [HINT_CHANNEL, `${city(k)}:${k}`] });
        while (heard < wanted) await new Promise((resolve) => setImmediate(resolve));
      });
      const woken = pids.reduce((sum, pid) => sum + ranUs(pid), 0) - before;
      points.push({ n, sender, listener: woken / (times + 20) / n });
    }
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await watched.pool.end();
  }
  const [first, last] = [points[0]!, points.at(-1)!];
  const listenerUs = (last.sender - first.sender) / (last.n - first.n);
  return { listenerUs, notifyUs: first.sender - first.n * listenerUs, wokenUs: last.listener };
}
