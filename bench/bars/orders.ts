import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LeaseTimings } from '../../src/modules/sessions/launch/leased-work.js';
import { ROOT } from '../lib/child.js';
import type { Bar, Context } from '../lib/context.js';
import { withClient } from '../lib/database.js';
import { cpuSeconds, pinned, SERVER_CORE, sleep } from '../lib/machine.js';
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

/** A service that runs all cities, without an order. */
async function citiesOf(context: Context): Promise<{ url: string; service: Service }> {
  const url = await context.postgres.database(1);
  const service = await context.service(url, { role: 'all' });
  const own = [
    ['city.toml', WORKSPACE],
    ['formulas/tick.toml', TICK],
  ] as const;
  for (const name of NAMES) await runningCity(context, service, name, own);
  return { url, service };
}

async function addOrders(context: Context, url: string, service: Service): Promise<void> {
  for (const name of NAMES) {
    await writeFiles(cityDir(context, name), files());
    const reloaded = await call(service, 'POST', `/v0/city/${name}/config/reload`, {});
    if (!reloaded.ok) throw new Error(`the city does not compose: ${await reloaded.text()}`);
  }
  await until(() => withClient(url, async (sql) => (await sql.query(`select from orders where enabled`)).rowCount! >= ORDERS), 120_000);
}

export const restingOrders: Bar = {
  ids: ['O1'],
  title: `${count(ORDERS)} orders of ${CITIES} cities, none due`,
  async run(context) {
    const { url, service } = await citiesOf(context);
    const without = await share(context, service);
    await addOrders(context, url, service);
    const withOrders = await share(context, service);
    const costs = withOrders - without;
    return [
      {
        bar: 'O1',
        what: `${count(ORDERS)} orders, none due: share of a core above that of the same cities without`,
        ours: `${costs.toFixed(2)} % (${withOrders.toFixed(2)} %)`,
        floor: `${without.toFixed(2)} %`,
        reach: '≤ 1 %',
        met: costs <= 1,
      },
    ];
  },
};

/**
 * Begun is, of an order that launches a formula, its run with all its beads. Of one that runs a command it is the firing, committed with its
 * event: from then on whatever is left of the workers carries it out. When its process begins depends on how many the machine starts in a
 * second, and is said beside what a program takes that does nothing but start as many shells on the same core: more than half of it is the
 * walls (9 s without them, where it takes 22).
 */
export const dueOrders: Bar = {
  ids: ['O2'],
  title: `${count(ORDERS)} orders of ${CITIES} cities, ${count(DUE)} of them due in one second`,
  async run(context) {
    const { url, service } = await citiesOf(context);
    await addOrders(context, url, service);
    await sleep(3_000);
    return [...(await launchesDue(url)), ...(await commandsDue(url))];
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

async function launchesDue(url: string): Promise<Line[]> {
  const { reached, good } = await dueAtOnce(url, 'formula', { fired: 'true', begun: 'root_bead_id is not null' });
  return [
    {
      bar: 'O2',
      what: `${count(DUE)} due in one second, formula: all runs begun (${count(good)} succeeded)`,
      ours: seconds(reached.begun!),
      floor: '',
      reach: '≤ 5 s',
      met: reached.begun! <= 5 && good === DUE,
    },
    { bar: 'O2', what: 'the same: all firings committed', ours: seconds(reached.fired!), floor: '', reach: '' },
  ];
}

async function commandsDue(url: string): Promise<Line[]> {
  const { atOnce } = new LeaseTimings();
  const { reached, good } = await dueAtOnce(url, 'exec', { begun: 'true', taken: 'started_at is not null', done: "state = 'done'" });
  const [program, args] = pinned(SERVER_CORE, [process.execPath, join(ROOT, 'bench/floors/shells.mjs'), String(DUE), String(atOnce)]);
  const { stdout } = await promisify(execFile)(program, args);
  return [
    {
      bar: 'O2',
      what: `${count(DUE)} due in one second, exec: all firings begun (${count(good)} succeeded)`,
      ours: seconds(reached.begun!),
      floor: '',
      reach: '≤ 5 s',
      met: reached.begun! <= 5 && good === DUE,
    },
    {
      bar: 'O2',
      what: `the same: the last command taken up, and done, against ${count(DUE)} plain shells, ${atOnce} at once`,
      ours: `${seconds(reached.taken!)}, ${seconds(reached.done!)}`,
      floor: seconds(Number(stdout)),
      reach: '',
    },
  ];
}

const seconds = (n: number): string => `${n.toFixed(1)} s`;

/** Brings the time of so many orders, and says how long after it each of these is true of all firings for whoever looks, in their order. */
async function dueAtOnce(
  url: string,
  kind: 'formula' | 'exec',
  states: Readonly<Record<string, string>>,
): Promise<{ reached: Record<string, number>; good: number }> {
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
    const reached: Record<string, number> = {};
    for (const [name, holds] of Object.entries({ ...states, over: "state = 'done'" }))
      await until(async () => {
        const { rows: found } = await sql.query<{ n: number; after: number }>(
          `select count(*)::int as n, extract(epoch from clock_timestamp() - $1)::float as after
           from order_firings where created_at >= $1 and scoped_name like $2 and ${holds}`,
          [due, `${kind}-%`],
        );
        reached[name] = found[0]!.after;
        return found[0]!.n >= rows.length;
      }, 300_000);
    const { rows: ended } = await sql.query<{ good: number }>(
      `select count(*) filter (where outcome = 'success')::int as good from order_firings where created_at >= $1 and scoped_name like $2`,
      [due, `${kind}-%`],
    );
    return { reached, good: ended[0]!.good };
  });
}
