import type { Bar, Context } from '../lib/context.js';
import type { Taken } from '../clients/claims.js';
import { fill } from '../lib/beads.js';
import { cityName, withClient } from '../lib/database.js';
import { count, ms, type Line } from '../lib/report.js';
import { load, type Load } from '../lib/requests.js';
import { median, pairedRatio, sum } from '../lib/stats.js';
import { formatPlace } from '../../src/modules/work/work/page-token.js';

const NAMES = Array.from({ length: 32 }, (_, i) => cityName(i + 1));
const BEAD_BODY =
  '{"title":"write the report","description":"what was found, and what to do about it","priority":1,"labels":["docs"],"metadata":{"gc.routed_to":"polecat"}}';

const rates = (runs: readonly Load[]): number[] => runs.map((run) => run.perSecond);

function throughput(bar: string, what: string, ours: readonly Load[], floor: readonly Load[], reach: number): Line {
  const ratio = pairedRatio(rates(ours), rates(floor));
  const refused = sum(ours.map((run) => run.refused));
  return {
    bar,
    what: refused === 0 ? what : `${what} (${refused} answers were not 2xx)`,
    ours: `${count(median(rates(ours)))}/s, p99 ${ms(median(ours.map((run) => run.p99)))}`,
    floor: `${count(median(rates(floor)))}/s, p99 ${ms(median(floor.map((run) => run.p99)))}`,
    ratio,
    reach: `≥ ${reach}`,
    met: refused === 0 && ratio >= reach,
  };
}

export const beads: Bar = {
  ids: ['W1'],
  title: 'create and read a bead over HTTP: 32 clients over 32 cities, against bare Fastify with one statement',
  async run(context) {
    const url = await context.postgres.database(32);
    await fill(url, NAMES[0]!, { open: 1_000, closed: 0 });
    const client = await context.client('http');
    const { port } = await context.service(url);
    const floor = await context.floor('http', { url });
    const one = (to: number, paths: readonly string[], body?: string) => (): Promise<Load> =>
      load(client, context.tempDir, {
        port: to,
        paths,
        connections: 32,
        seconds: context.seconds,
        ...(body === undefined ? {} : { body }),
      });
    const parts = {
      create: one(
        port,
        NAMES.map((name) => `/v0/city/${name}/beads`),
        BEAD_BODY,
      ),
      insert: one(floor.port, ['/create'], BEAD_BODY),
      get: one(
        port,
        Array.from({ length: 1_000 }, (_, i) => `/v0/city/${NAMES[0]}/bead/o-${i + 1}`),
      ),
      row: one(floor.port, ['/bead']),
    };
    await context.warm(parts);
    const runs = await context.turns(parts);
    return [
      throughput('W1', 'POST bead, 32 cities', runs.create, runs.insert, 0.6),
      throughput('P7', 'GET bead against Fastify and one row', runs.get, runs.row, 0.75),
    ];
  },
};

export const ready: Bar = {
  ids: ['W3'],
  title: 'ready list of a city with 100,000 beads and 200,000 dependencies, against SQL written by hand',
  async run(context) {
    const few = await measureReady(context, 10_000);
    const many = await measureReady(context, 100_000);
    const growth = pairedRatio(rates(few.ours), rates(many.ours));
    const p50 = median(many.ours.map((run) => run.p50));
    return [
      throughput('W3', 'ready: page and total, against the same by joins', many.ours, many.whole, 0.8),
      throughput('W3', 'ready: page and total, against the page alone by joins', many.ours, many.page, 0.8),
      { bar: 'W3', what: 'ready: one page, one client', ours: ms(p50), floor: '', reach: '≤ 30 ms', met: p50 <= 30 },
      {
        bar: 'W3',
        what: 'ready: ten times the closed beads',
        ours: `${count(median(rates(many.ours)))}/s`,
        floor: `${count(median(rates(few.ours)))}/s`,
        ratio: 1 / growth,
        reach: '≥ 0.9',
        met: 1 / growth >= 0.9,
      },
    ];
  },
};

async function measureReady(context: Context, closed: number): Promise<Record<'ours' | 'page' | 'whole', Load[]>> {
  const url = await context.postgres.database(32);
  await fill(url, NAMES[0]!, { open: 100_000, closed, dependencies: true });
  const client = await context.client('http');
  const { port } = await context.service(url);
  const floor = await context.floor('http', { url });
  const get = (to: number, path: string) => (): Promise<Load> =>
    load(client, context.tempDir, { port: to, paths: [path], connections: 1, seconds: context.seconds });
  const parts = {
    ours: get(port, `/v0/city/${NAMES[0]}/beads/ready?limit=100`),
    page: get(floor.port, '/ready/page'),
    whole: get(floor.port, '/ready/whole'),
  };
  await context.warm(parts);
  const runs = await context.turns(parts);
  await context.stopAll();
  return runs;
}

export const pages: Bar = {
  ids: ['W4'],
  title: 'list of a city with 100,000 beads: page 1,000 against page 1',
  async run(context) {
    const url = await context.postgres.database(32);
    const open = 100_000;
    await fill(url, NAMES[0]!, { open, closed: 0 });
    const client = await context.client('http');
    const { port } = await context.service(url);
    const first = `/v0/city/${NAMES[0]}/beads?limit=100`;
    const thousandth = `${first}&cursor=${await cursorOf(url, open - 99_900 + 1)}`;
    const page = (path: string) => (): Promise<Load> =>
      load(client, context.tempDir, { port, paths: [path], connections: 1, seconds: context.seconds });
    const runs = await context.turns({ first: page(first), thousandth: page(thousandth) });
    const ratio = pairedRatio(
      runs.thousandth.map((run) => run.p50),
      runs.first.map((run) => run.p50),
    );
    return [
      {
        bar: 'W4',
        what: 'list: page 1,000 against page 1',
        ours: ms(median(runs.thousandth.map((run) => run.p50))),
        floor: ms(median(runs.first.map((run) => run.p50))),
        ratio,
        reach: '≤ 1.3',
        met: ratio <= 1.3 && runs.thousandth.every((run) => run.refused === 0),
      },
    ];
  },
};

const WORKERS = 64;

export const claims: Bar = {
  ids: ['W2'],
  title: `claims: ${WORKERS} workers against 100,000 ready beads of one city, against graphile-worker's on the same Postgres`,
  async run(context) {
    const url = await context.postgres.database(32);
    const jobs = 100_000;
    const client = await context.client('claims');
    await fill(url, NAMES[0]!, { open: jobs, closed: 0, route: 'polecat' });
    await client.call('prepare', { url, jobs });
    const take = Math.floor(jobs / (context.rounds + 1) / 2);
    const parts = {
      ours: (): Promise<Taken> => client.call('ours', { url, city: NAMES[0], workers: WORKERS, take }),
      peer: (): Promise<Taken> => client.call('peer', { url, workers: WORKERS, take }),
    };
    await context.turns(parts, 1); // warm: each takes of the beads that there are
    const runs = await context.turns(parts);
    const [ours, peer] = [runs.ours, runs.peer].map((all) => all.map((run) => run.perSecond)) as [number[], number[]];
    const ratio = pairedRatio(ours, peer);
    return [
      {
        bar: 'W2',
        what: `claims of one city, ${WORKERS} workers, ${count(take)} of ${count(jobs)} a round`,
        ours: `${count(median(ours))}/s`,
        floor: `${count(median(peer))}/s`,
        ratio,
        reach: '≥ 1',
        met: ratio >= 1,
      },
    ];
  },
};

/** The token of the page after bead `n`. */
async function cursorOf(url: string, n: number): Promise<string> {
  return withClient(url, async (client) => {
    const text = 'select (extract(epoch from created_at) * 1000000)::bigint::text as at from beads where stream_id = 2 and id = $1';
    const { rows } = await client.query<{ at: string }>(text, [`o-${n}`]);
    return encodeURIComponent(formatPlace('bead', { createdAt: rows[0]!.at, id: `o-${n}` }));
  });
}
