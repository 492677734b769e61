import type { Bar, Context } from '../lib/context.js';
import { withClient } from '../lib/database.js';
import { cpuSeconds, sleep } from '../lib/machine.js';
import { count, type Line } from '../lib/report.js';
import { call, cityDir, runningCity, until } from '../lib/running-city.js';
import { writeFiles } from '../lib/big-city.js';
import type { Service } from '../lib/service.js';

const CITIES = 10;
const ORDERS = 10_000;
const DUE = 1_000;
const NAMES = Array.from({ length: CITIES }, (_, n) => `orders-${n}`);
const WORKSPACE = '[workspace]\nprovider = "loopback"\n[providers.loopback]\nbase = "builtin:loopback"\n';
const TICK = 'formula = "tick"\n[[steps]]\nid = "look"\ntitle = "Look"\n';
/** Once a year: not now. */
const YEARLY = 'trigger = "cron"\nschedule = "0 0 1 1 *"\n';

export const orders: Bar = {
  ids: ['O1', 'O2'],
  title: `${count(ORDERS)} orders of ${CITIES} cities: none due, then ${count(DUE)} in one second`,
  async run(context) {
    const url = await context.postgres.database(1);
    const service = await context.service(url, { role: 'all' });
    for (const name of NAMES)
      await runningCity(context, service, name, [
        ['city.toml', WORKSPACE],
        ['formulas/tick.toml', TICK],
      ]);
    const without = await share(context, service);
    for (const name of NAMES) {
      await writeFiles(cityDir(context, name), files());
      const reloaded = await call(service, 'POST', `/v0/city/${name}/config/reload`, {});
      if (!reloaded.ok) throw new Error(`the city does not compose: ${await reloaded.text()}`);
    }
    await until(() => withClient(url, async (sql) => (await sql.query(`select from orders where enabled`)).rowCount! >= ORDERS), 120_000);
    const withOrders = await share(context, service);
    const costs = withOrders - without;
    const lines: Line[] = [
      {
        bar: 'O1',
        what: `${count(ORDERS)} orders, none due: share of a core above that of the same cities without`,
        ours: `${costs.toFixed(2)} % (${withOrders.toFixed(2)} %)`,
        floor: `${without.toFixed(2)} %`,
        reach: '≤ 1 %',
        met: costs <= 1,
      },
    ];
    for (const kind of ['formula', 'exec'] as const) lines.push(...(await dueAtOnce(url, kind)));
    return lines;
  },
};

/** One in ten is for each kind of firing that is measured. */
function files(): [string, string][] {
  return Array.from({ length: ORDERS / CITIES }, (_, n): [string, string] => {
    const kind = n % 10 === 0 ? 'formula' : 'exec';
    const action = kind === 'formula' ? 'formula = "tick"' : 'exec = "true"';
    return [`orders/${kind}-${n}.toml`, `[order]\n${action}\n${YEARLY}`];
  });
}

/** Of a core, in per cent, while nothing happens. */
async function share(context: Context, service: Service): Promise<number> {
  await sleep(3_000);
  const seconds = Math.max(10, context.seconds * 5);
  const before = cpuSeconds(service.pid);
  await sleep(seconds * 1000);
  return (100 * (cpuSeconds(service.pid) - before)) / seconds;
}

/** The clock comes to the time of so many orders: their rows say when that is. */
async function dueAtOnce(url: string, kind: 'formula' | 'exec'): Promise<Line[]> {
  return withClient(url, async (sql) => {
    const { rows } = await sql.query<{ at: Date }>(
      `with chosen as (
         select stream_id, scoped_name from (
           select o.*, row_number() over (partition by stream_id order by scoped_name) as n from orders o where scoped_name like $1) o
         where n <= $2)
       , at as materialized (select date_trunc('second', now()) + interval '3 seconds' as at)
       update orders o set look_at = at.at, next_due_at = at.at from chosen c, at
       where (o.stream_id, o.scoped_name) = (c.stream_id, c.scoped_name) returning o.look_at as at`,
      [`${kind}-%`, DUE / CITIES],
    );
    const due = rows[0]!.at;
    const firings = `from order_firings where created_at >= $1 and scoped_name like $2`;
    const values = [due, `${kind}-%`];
    await until(async () => (await sql.query(`select ${firings} and state = 'done'`, values)).rowCount! >= rows.length, 300_000);
    const { rows: took } = await sql.query<{ fired: number; started: number; done: number; good: number }>(
      `select extract(epoch from max(created_at) - $1)::float as fired, extract(epoch from max(started_at) - $1)::float as started,
         extract(epoch from max(finished_at) - $1)::float as done, count(*) filter (where outcome = 'success')::int as good ${firings}`,
      values,
    );
    const { fired, started, done, good } = took[0]!;
    const s = (n: number): string => `${n.toFixed(1)} s`;
    return [
      {
        bar: 'O2',
        what: `${count(rows.length)} due in one second, ${kind}: all begun (${count(good)} succeeded)`,
        ours: s(fired),
        floor: '',
        reach: '≤ 5 s',
        met: fired <= 5,
      },
      {
        bar: 'O2',
        what: `the same: the last one taken up by the worker, and done`,
        ours: `${s(started)}, ${s(done)}`,
        floor: '',
        reach: '',
      },
    ];
  });
}
