import pg from 'pg';
import type { Worked } from '../clients/agents.js';
import type { Bar, Context } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { count, ms, type Line } from '../lib/report.js';
import { load, type Load } from '../lib/requests.js';
import { call, runningCity } from '../lib/running-city.js';
import { median, pairedRatio } from '../lib/stats.js';
import { RunInserter, writtenRun } from '../lib/written-run.js';

const CITY = 'city.toml';
const WORKSPACE = '[workspace]\nprovider = "loopback"\n[providers.loopback]\nbase = "builtin:loopback"\n';
const POLECAT = [
  ['agents/polecat/agent.toml', 'max_active_sessions = 64\n'],
  ['agents/polecat/prompt.md', 'Take the next piece of work.\n'],
] as const;
const HEAD = '[requires]\nformula_compiler = ">=2.0.0"\n';
const STEPS = 200;
const step = (n: number, more = ''): string =>
  `[[steps]]\nid = "s${n}"\ntitle = "Step ${n} of {{what}}"\ndescription = "What is to be done in step ${n}."\n${more}`;
const chain = (steps: number): string =>
  Array.from({ length: steps }, (_, n) => step(n + 1, n === 0 ? '' : `needs = ["s${n}"]\n`)).join('');
const WIDE = `formula = "wide"\n[vars]\nwhat = "the report"\n${chain(STEPS)}`;
const FIVE = `formula = "five"\n${HEAD}[vars]\nwhat = "the report"\n${chain(5)}`;

export const launch: Bar = {
  ids: ['R1'],
  title: `a formula of ${STEPS} steps launched over HTTP, against plain SQL that inserts the same rows and events in one transaction`,
  async run(context) {
    const url = await context.postgres.database(1);
    const first = await context.service(url, { role: 'all' });
    await runningCity(context, first, 'launch', [[CITY, WORKSPACE], ...POLECAT, ['formulas/wide.toml', WIDE]]);
    await context.stopAll();
    const service = await context.service(url);
    const launchOne = async (): Promise<string> => {
      const answer = await call(service, 'POST', '/v0/city/launch/sling', { target: 'polecat', formula: 'wide' });
      const body = (await answer.json()) as { workflow_id?: string };
      if (body.workflow_id === undefined) throw new Error(`${answer.status} ${JSON.stringify(body)}`);
      return body.workflow_id;
    };
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    context.onStop(() => client.end());
    const written = await writtenRun(client, 'launch', await launchOne());
    const inserter = await RunInserter.of(client, written, cityName(1));
    const parts = { ours: () => rate(context, launchOne), floor: () => rate(context, () => inserter.insert()) };
    await context.turns(parts, 1); // warm
    const runs = await context.turns(parts);
    const ratio = pairedRatio(runs.ours, runs.floor);
    const [beads, edges, events] = written.sizes;
    return [
      {
        bar: 'R1',
        what: `launch of ${STEPS} steps: ${beads} beads, ${edges} edges, ${events} events, one after the other`,
        ours: `${median(runs.ours).toFixed(1)}/s`,
        floor: `${median(runs.floor).toFixed(1)}/s`,
        ratio,
        reach: '≥ 0.5',
        met: ratio >= 0.5,
      },
    ];
  },
};

/** How often it is done in a second, one after the other. */
async function rate(context: Context, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  let n = 0;
  while (performance.now() - started < context.seconds * 1000) {
    await work();
    n++;
  }
  return n / ((performance.now() - started) / 1000);
}

const AGENTS = 64;
const MOLECULES = 1_000;

export const molecules: Bar = {
  ids: ['R2'],
  title: `${AGENTS} agents that work through ${MOLECULES} molecules of 5 steps, against the same beads without molecules`,
  async run(context) {
    const url = await context.postgres.database(1);
    const files = [[CITY, WORKSPACE], ...POLECAT, ['formulas/five.toml', FIVE]] as const;
    const first = await context.service(url, { role: 'all' });
    for (const city of ['runs', 'plain']) await runningCity(context, first, city, files);
    // Agents are the client's here: no worker starts any.
    await context.stopAll();
    const { port } = await context.service(url);
    const client = await context.client('agents');
    await client.call('repeat', {
      port,
      path: '/v0/city/runs/sling',
      body: { target: 'polecat', formula: 'five' },
      times: MOLECULES,
      atOnce: 8,
    });
    await withClient(url, (sql) => sql.query(PLAIN));
    await withClient(url, (sql) => sql.query('vacuum analyze beads, bead_dependencies, runs'));
    // What is left at the end keeps all of them busy.
    const take = Math.floor((MOLECULES * 5) / (context.rounds + 2));
    const work = (city: string) => (): Promise<Worked> => client.call('work', { port, city, queue: 'polecat', agents: AGENTS, take });
    const parts = { ours: work('runs'), floor: work('plain') };
    await context.turns(parts, 1); // warm
    const runs = await context.turns(parts);
    const [ours, floor] = [runs.ours, runs.floor].map((all) => all.map((run) => run.perSecond)) as [number[], number[]];
    const ratio = pairedRatio(ours, floor);
    const shown = (all: readonly Worked[]): string =>
      `${count(median(all.map((run) => run.perSecond)))}/s, p99 ${ms(median(all.map((run) => run.p99)))}`;
    return [
      {
        bar: 'R2',
        what: `claimed and closed by ${AGENTS} agents over HTTP, ${count(take)} of ${count(MOLECULES * 5)} steps a round`,
        ours: shown(runs.ours),
        floor: shown(runs.floor),
        ratio,
        reach: '≥ 0.8',
        met: ratio >= 0.8,
      },
    ];
  },
};

/** The steps of the runs of the one city, with what is between them, as beads of the other that are of no run. */
const PLAIN = `
  with at as (select (select id from event_streams where name = 'runs') as run, (select id from event_streams where name = 'plain') as plain),
  made as (
    insert into beads (stream_id, id, title, description, issue_type, priority, metadata, open_blockers, created_at)
    select at.plain, 'p-' || b.id, b.title, b.description, b.issue_type, b.priority, jsonb_build_object('gc.routed_to', b.metadata ->> 'gc.routed_to'),
      b.open_blockers, b.created_at
    from at join beads b on b.stream_id = at.run and b.run_id is not null and b.run_id <> b.id)
  insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
  select at.plain, 'p-' || d.issue_id, 'p-' || d.depends_on_id, d.type
  from at join bead_dependencies d on d.stream_id = at.run
    join beads b on b.stream_id = at.run and b.id = d.issue_id and b.run_id <> b.id`;

const MANY = 100_000;
const FEW = 100;

export const runReads: Bar = {
  ids: ['R3'],
  title: `list, census and one run of a city of ${count(MANY)} runs, against one of ${FEW}`,
  async run(context) {
    const url = await context.postgres.database(2);
    await withClient(url, async (sql) => {
      await sql.query('set synchronous_commit = off');
      for (const [n, runs] of [MANY, FEW].entries()) await sql.query(RUNS, [cityName(n + 1), runs]);
    });
    await withClient(url, (sql) => sql.query('vacuum analyze runs, run_counts, beads'));
    const client = await context.client('http');
    const service = await context.service(url);
    const lines: Line[] = [];
    const reads = { list: 'runs?limit=100', census: 'runs/census', run: 'runs/r-50', steps: 'runs/r-50/steps' };
    for (const [name, path] of Object.entries(reads)) {
      const read = (city: number) => (): Promise<Load> =>
        load(client, context.tempDir, {
          port: service.port,
          paths: [`/v0/city/${cityName(city)}/${path}`],
          connections: 1,
          seconds: context.seconds,
        });
      const parts = { many: read(1), few: read(2) };
      await context.turns(parts, 1); // warm
      const runs = await context.turns(parts);
      lines.push(compared(name, runs.many, runs.few));
    }
    return lines;
  },
};

function compared(name: string, many: readonly Load[], few: readonly Load[]): Line {
  const p50 = (all: readonly Load[]): number[] => all.map((run) => run.p50);
  const ratio = pairedRatio(p50(many), p50(few));
  const refused = [...many, ...few].some((run) => run.refused > 0);
  return {
    bar: 'R3',
    what: `${name}: ${count(MANY)} runs against ${FEW}${refused ? ' (not all answers were 2xx)' : ''}`,
    ours: ms(median(p50(many))),
    floor: ms(median(p50(few))),
    ratio,
    reach: '≤ 1.3',
    met: !refused && ratio <= 1.3,
  };
}

/** Runs of twenty formulas with a root and two steps each; one in fifty goes on. */
const RUNS = `
  with s as (select id from event_streams where name = $1),
  made as (
    insert into beads (stream_id, id, title, issue_type, status, closed_at, parent, run_id, ref, metadata, created_at)
    select s.id, case when n = 0 then 'r-' || g else 'r-' || g || '.' || n end, 'write report ' || g, case when n = 0 then 'molecule' else 'step' end,
      case when g % 50 = 0 then 'open' else 'closed' end, case when g % 50 = 0 then null else now() end, case when n > 0 then 'r-' || g end, 'r-' || g,
      'five' || case when n = 0 then '' else '.s' || n end, '{}', now() - interval '1 day' + g * interval '1 millisecond'
    from s, generate_series(1, $2::int) g, generate_series(0, 2) n)
  insert into runs (stream_id, id, formula, formula_sha256, compiler, root_only, launched_by, title, target, steps, closed, outcome, finished_at,
    started_at, updated_at)
  select s.id, 'r-' || g, 'five' || g % 20, '', 1, false, 'sling', 'write report ' || g, 'polecat', 2, case when g % 50 = 0 then 0 else 2 end,
    case when g % 50 = 0 then null else 'pass' end, case when g % 50 = 0 then null else now() end,
    now() - interval '1 day' + g * interval '1 millisecond', now() - interval '1 day' + g * interval '1 millisecond'
  from s, generate_series(1, $2::int) g`;
