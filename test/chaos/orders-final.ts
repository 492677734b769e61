import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Member } from './fleet.js';
import { readFinal } from './final.js';
import { ask } from './http.js';
import { ORDERS } from './orders-city.js';
import type { OrdersHistory, ShownFiring, ShownOrder, Trace } from './orders-history.js';
import type { Random } from './random.js';
import type { ChaosPostgres } from './servers.js';

const STARTS = `select scoped_name as "order", event_cursor::float8 as cursor from orders`;
const FIRINGS = `
  select pk::float8 as pk, id, scoped_name as "order", state, cause, forced, extract(epoch from created_at)::float8 * 1000 as "createdAt",
    attempts, outcome, root_bead_id as root, vars ->> 'mark' as mark,
    case when event is not null then jsonb_build_object('seq', event -> 'seq', 'type', event -> 'type', 'count', event -> 'count') end as event
  from order_firings order by pk`;
const ENDS = `
  select scoped_name as "order", failures, last_outcome as "lastOutcome", event_cursor::float8 as cursor from orders
  where scoped_name = any($1::text[])`;
const DELIVERIES = `select hook, firing_id as firing, waiting from webhook_deliveries order by pk`;
const RUNS = `
  select r.id, b.metadata ->> 'gc.order_firing' as firing from runs r left join beads b on b.stream_id = r.stream_id and b.id = r.id
  where r.launched_by = 'order'`;
/** What has not come to its end: firings, deliveries that wait, events that nobody was handed. */
const LEFT = `
  select 'firing' as what, id, scoped_name as of, state || ' ' || attempts || ' ' || coalesce(worker, '') as more from order_firings where state <> 'done'
  union all select 'delivery', firing_id, scoped_name, '' from webhook_deliveries where waiting
  union all select 'event', min(e.seq)::text, o.scoped_name, count(*)::text from orders o
    join events e on e.stream_id = o.stream_id and e.type = o.listens and e.seq > o.event_cursor group by o.scoped_name`;
const NAMES = ORDERS.map(({ name }) => name);

export async function readStarts(postgres: ChaosPostgres, database: string, history: OrdersHistory): Promise<void> {
  const rows = await postgres.query<OrdersHistory['starts'][number]>(STARTS, [], database);
  history.starts.push(...rows.filter(({ order }) => NAMES.includes(order)));
}

export function readLeft(postgres: ChaosPostgres, database: string): Promise<object[]> {
  return postgres.query(LEFT, [], database);
}

/** Everything that the judgement needs, once nothing moves any more. */
export async function readOrders(
  postgres: ChaosPostgres,
  database: string,
  history: OrdersHistory,
  city: { readonly name: string; readonly path: string },
  apis: readonly Member[],
  random: Random,
): Promise<void> {
  const fill = async (part: 'orders' | 'firings' | 'deliveries' | 'runs', sql: string, values: unknown[] = []): Promise<void> =>
    void history[part].push(...((await postgres.query(sql, values, database)) as never[]));
  await fill('orders', ENDS, [NAMES]);
  await fill('firings', FIRINGS);
  await fill('deliveries', DELIVERIES);
  await fill('runs', RUNS);
  history.log.push(...(await readFinal(postgres, database)).log.filter(({ stream }) => stream === city.name));
  history.traces.push(...(await traces(join(city.path, 'traces'))));
  for (const api of apis) for (const name of NAMES) history.shown.push(await shown(api, city.name, name, random.int(3, 100)));
}

async function traces(file: string): Promise<Trace[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [what, firing = '', order = '', seq = ''] = line.split(' ');
      return { what: what as Trace['what'], firing, order, seq };
    });
}

/** Page by page, the newest first. */
async function shown(api: Member, city: string, order: string, limit: number): Promise<ShownOrder> {
  const read = async <T>(path: string): Promise<T> => {
    const answer = await ask('GET', `${api.url}/v0/city/${city}/${path}`, { ms: 10_000 });
    if (answer?.status !== 200) throw new Error(`${api.name} does not answer ${path}: ${answer?.status} ${answer?.body}`);
    return JSON.parse(answer.body) as T;
  };
  interface Page {
    readonly entries: readonly (Omit<ShownFiring, 'id' | 'outcome' | 'root'> & {
      bead_id: string;
      outcome?: string;
      wisp_root_id?: string;
    })[];
    readonly next_cursor?: string;
  }
  const entries: ShownFiring[] = [];
  for (let cursor: string | undefined; ;) {
    const query = new URLSearchParams({ scoped_name: order, limit: String(limit), ...(cursor === undefined ? {} : { cursor }) });
    const page = await read<Page>(`orders/history?${query.toString()}`);
    for (const { bead_id: id, state, cause, outcome = null, wisp_root_id: root = null } of page.entries ?? [])
      entries.push({ id, state, cause, outcome, root });
    cursor = page.next_cursor;
    if (cursor === undefined) break;
  }
  const { consecutive_failures, last_run_outcome = null } = await read<{ consecutive_failures: number; last_run_outcome?: string }>(
    `order/${order}`,
  );
  return { replica: api.name, order, failures: Number(consecutive_failures), lastOutcome: last_run_outcome, entries };
}
