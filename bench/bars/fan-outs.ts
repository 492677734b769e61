import type { Bar, Context } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { sleep } from '../lib/machine.js';
import { count, ms, type Line } from '../lib/report.js';
import { call, runningCity } from '../lib/running-city.js';
import { median } from '../lib/stats.js';
import type { Service } from '../lib/service.js';

const CITY = cityName(1);
const DEPENDENTS = 20_000;
const AGENTS = 5_000;
const BATCH = 5_000;
/** As many as a formula may have. */
const STEPS = 2_000;
const LAUNCHING = 'launching';
const FORMULA = Array.from(
  { length: STEPS - 1 },
  (_, n) =>
    `[[steps]]\nid = "s${n}"\ntitle = "Step ${n}"\ndescription = "What is to be done in step ${n}."\n${n % 10 === 0 ? '' : `needs = ["s${n - 1}"]\n`}`,
).join('');
const FILES = [
  ['city.toml', '[workspace]\nprovider = "loopback"\n[providers.loopback]\nbase = "builtin:loopback"\n'],
  ['agents/polecat/agent.toml', 'max_active_sessions = 1\n'],
  ['agents/polecat/prompt.md', 'Take the next piece of work.\n'],
  ['formulas/tree.toml', `formula = "tree"\n${FORMULA}`],
  ['formulas/graph.toml', `formula = "graph"\n[requires]\nformula_compiler = ">=2.0.0"\n${FORMULA}`],
] as const;
const MOST_MS = 250;

interface Beside {
  /** Of another writer of the city: its slowest and its usual wait, and what it was refused. */
  readonly slowest: number;
  readonly usual: number;
  readonly refused: number;
  /** Until everything was done, and until the request that did it was answered. */
  readonly whole: number;
  readonly answered: number;
}

/**
 * What has very many consequences in one city: a bead that 20,000 depend on closes and opens again, a broadcast to 5,000, a batch of
 * 5,000 slings, a run of a formula of 2,000 steps for either compiler. Beside it a client makes a bead in the same city, again and again: what counts is the longest that it waits.
 */
export const fanOuts: Bar = {
  ids: ['F5'],
  title:
    'another writer of the city beside a close with 20,000 dependents, a broadcast to 5,000, a batch of slings, the launch of a long run',
  async run(context) {
    const rounds: Record<string, Beside[]> = {};
    for (let round = 0; round < Math.min(3, context.rounds); round++) {
      const url = await context.postgres.database(1);
      await fillWide(url);
      const service = await context.service(url, { role: 'all' });
      const at = (path: string): string => `/v0/city/${CITY}/${path}`;
      const ask = (path: string, body: unknown) => () => call(service, 'POST', at(path), body);
      const blocked = (wanted: number) => async (): Promise<boolean> => {
        const [row] = await asked(
          url,
          `select count(*) filter (where open_blockers > 0)::int as n, (select count(*)::int from bead_fan_outs) as left from beads where id like 'd-%'`,
        );
        return row!.n === wanted && row!.left === 0;
      };
      const note = async (what: string, beside: Promise<Beside>): Promise<void> => void (rounds[what] ??= []).push(await beside);
      await note(`close with ${count(DEPENDENTS)} dependents`, during(service, ask('bead/hub/close', {}), blocked(0)));
      await note('the same bead opens again', during(service, ask('bead/hub/reopen', {}), blocked(DEPENDENTS)));
      const sent = async (): Promise<boolean> => {
        const [row] = await asked(url, `select count(*)::int as n, 0 as left from events where type like 'mail.sent'`);
        return row!.n >= AGENTS;
      };
      await note(`broadcast to ${count(AGENTS)}`, during(service, ask('mail/broadcast', { subject: 'all hands', from: 'bench' }), sent));
      // The longest of them: once is enough.
      if (round > 0) {
        await context.stopAll();
        continue;
      }
      const beads = Array.from({ length: BATCH }, (_, n) => `s-${n + 1}`);
      const slung = async (): Promise<boolean> => {
        const [row] = await asked(url, `select count(*)::int as n, 0 as left from beads where id like 's-%' and routed_to is not null`);
        return row!.n === BATCH;
      };
      await note(`batch of ${count(BATCH)} slings`, during(service, ask('sling/batch', { target: 'polecat', beads }), slung));
      await runningCity(context, service, LAUNCHING, FILES);
      for (const formula of ['tree', 'graph']) {
        const launch = (): Promise<Response> => call(service, 'POST', `/v0/city/${LAUNCHING}/sling`, { target: 'polecat', formula });
        const launched = async (): Promise<boolean> => {
          const [row] = await asked(
            url,
            `select count(*)::int as n, 0 as left from beads where run_id = (select id from runs where formula = '${formula}')`,
          );
          return row!.n >= STEPS;
        };
        await note(`launch of a ${formula} of ${count(STEPS)} steps`, during(service, launch, launched, LAUNCHING));
      }
      await context.stopAll();
    }
    return Object.entries(rounds).map(([what, all]) => lineOf(context, what, all));
  },
};

function lineOf(context: Context, what: string, all: readonly Beside[]): Line {
  const of = (value: (one: Beside) => number): number => median(all.map(value));
  const slowest = Math.max(...all.map((one) => one.slowest));
  const refused = Math.max(...all.map((one) => one.refused));
  context.say(`${what}: ${all.map((one) => JSON.stringify(one)).join(' ')}`);
  return {
    bar: 'F5',
    what: `${what}: answered after ${ms(of((one) => one.answered))}, done after ${ms(of((one) => one.whole))}${refused === 0 ? '' : ` (${refused} refused)`}`,
    ours: `the slowest write beside it ${ms(slowest)}, usually ${ms(of((one) => one.usual))}`,
    floor: '',
    reach: `≤ ${MOST_MS} ms`,
    met: refused === 0 && slowest <= MOST_MS,
  };
}

async function during(
  service: Service,
  begin: () => Promise<Response>,
  isDone: () => Promise<boolean>,
  city: string = CITY,
): Promise<Beside> {
  const waits: number[] = [];
  let refused = 0;
  let over = false;
  const write = async (): Promise<void> => {
    while (!over) {
      const began = performance.now();
      const answer = await call(service, 'POST', `/v0/city/${city}/beads`, { title: 'beside' });
      await answer.text();
      waits.push(performance.now() - began);
      if (!answer.ok) refused++;
      await sleep(5);
    }
  };
  const beside = write();
  await sleep(300);
  waits.length = 0;
  const began = performance.now();
  const answer = await begin();
  const text = await answer.text();
  const answered = performance.now() - began;
  try {
    if (!answer.ok) throw new Error(`refused: ${answer.status} ${text.slice(0, 500)}`);
    while (!(await isDone())) {
      if (performance.now() - began > 120_000) throw new Error('it is not done after two minutes');
      await sleep(100);
    }
    return { slowest: Math.max(...waits), usual: median(waits), refused, whole: performance.now() - began, answered };
  } finally {
    over = true;
    await beside;
  }
}

const asked = (url: string, text: string): Promise<{ n: number; left: number }[]> =>
  withClient(url, async (client) => (await client.query<{ n: number; left: number }>(text)).rows);

async function fillWide(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off');
    const at = `(select id from event_streams where name = '${CITY}')`;
    await client.query(`insert into beads (stream_id, id, title) values (${at}, 'hub', 'what all wait for')`);
    await client.query(
      `insert into beads (stream_id, id, title, description, open_blockers, metadata)
       select ${at}, 'd-' || g, 'write report ' || g, 'what was found in part ' || g, 1, '{"gc.routed_to": "polecat"}' from generate_series(1, ${DEPENDENTS}) g`,
    );
    await client.query(
      `insert into bead_dependencies (stream_id, issue_id, depends_on_id, type) select stream_id, id, 'hub', 'blocks' from beads where id like 'd-%'`,
    );
    await client.query(
      `insert into beads (stream_id, id, title) select ${at}, 's-' || g, 'sling ' || g from generate_series(1, ${BATCH}) g`,
    );
    await client.query(
      `insert into agents (stream_id, name, base, kind) select ${at}, 'agent-' || g, 'agent-' || g, 'agent' from generate_series(1, ${AGENTS}) g`,
    );
  });
  await withClient(url, (client) => client.query('vacuum analyze beads, bead_dependencies, agents'));
}
