import pg from 'pg';
import type { GroupResult, RequestGroup } from '../clients/http.js';
import type { Bar } from '../lib/context.js';
import { cityName } from '../lib/database.js';
import { liveSession } from '../lib/live-sessions.js';
import { sleep } from '../lib/machine.js';
import { runScript } from '../lib/pgbench.js';
import { count, ms, type Line } from '../lib/report.js';
import { CLIENT_NAME, EMIT_BODY, load, post, type Load } from '../lib/requests.js';
import { counterRow } from '../lib/scripts.js';
import { median, pairedRatio, sum } from '../lib/stats.js';

const CONNECTIONS = 64;
const NAMES = Array.from({ length: 32 }, (_, i) => cityName(i + 1));

export const http: Bar = {
  ids: ['P7'],
  title: `requests of one process, ${CONNECTIONS} connections (${CLIENT_NAME}), against bare Fastify`,
  async run(context) {
    const url = await context.postgres.database(32);
    const client = await context.client('http');
    const { port } = await context.service(url);
    const floor = await context.floor('http', { url });
    for (const name of NAMES) await liveSession(url, `s-${name}`, name);
    const requests = (to: number, paths: readonly string[], body?: string) => (): Promise<Load> =>
      load(client, context.tempDir, {
        port: to,
        paths,
        connections: CONNECTIONS,
        seconds: context.seconds,
        ...(body === undefined ? {} : { body }),
      });
    const parts = {
      health: requests(port, ['/health']),
      hello: requests(floor.port, ['/hello']),
      city: requests(
        port,
        NAMES.map((name) => `/v0/city/${name}`),
      ),
      session: requests(
        port,
        NAMES.map((name) => `/v0/city/${name}/session/s-${name}`),
      ),
      row: requests(floor.port, ['/row']),
      ofSession: requests(
        floor.port,
        // The first stream is the supervisor's.
        NAMES.map((name, n) => `/session/${n + 2}/s-${name}`),
      ),
      emit: requests(
        port,
        NAMES.map((name) => `/v0/city/${name}/events`),
        EMIT_BODY,
      ),
      append: requests(floor.port, ['/append'], EMIT_BODY),
    };
    await context.warm(parts);
    const runs = await context.turns(parts);
    return [
      ...lines('GET health against Fastify hello', runs.health, runs.hello, 0.6),
      ...lines('GET city against Fastify and one row', runs.city, runs.row, 0.75),
      ...lines('GET session against Fastify and its row', runs.session, runs.ofSession, 0.75),
      ...lines('POST event against Fastify POST', runs.emit, runs.append, 0.7),
    ];
  },
};

function lines(what: string, ours: readonly Load[], floor: readonly Load[], reach: number): Line[] {
  const rate = (all: readonly Load[]): number[] => all.map((run) => run.perSecond);
  const p99 = (all: readonly Load[]): number[] => all.map((run) => run.p99);
  const throughput = pairedRatio(rate(ours), rate(floor));
  const tail = pairedRatio(p99(ours), p99(floor));
  const refused = sum(ours.map((run) => run.refused));
  return [
    {
      bar: 'P7',
      what: refused === 0 ? what : `${what} (${refused} answers were not 2xx)`,
      ours: `${count(median(rate(ours)))}/s`,
      floor: `${count(median(rate(floor)))}/s`,
      ratio: throughput,
      reach: `≥ ${reach}`,
      met: refused === 0 && throughput >= reach,
    },
    {
      bar: 'P7',
      what: `${what}: p99`,
      ours: ms(median(p99(ours))),
      floor: ms(median(p99(floor))),
      ratio: tail,
      reach: '≤ 2',
      met: tail <= 2,
    },
  ];
}

const HOT_CLIENTS = 32;

export const hotCityHttp: Bar = {
  ids: ['hot'],
  title: `one hot city: ${HOT_CLIENTS} clients emit single events through the API, against the plain counter-row transaction`,
  async run(context) {
    const url = await context.postgres.database(32);
    const client = await context.client('http');
    const { port } = await context.service(url);
    const group: RequestGroup = { name: 'hot', connections: HOT_CLIENTS, requests: [post(port, `/v0/city/${NAMES[0]}/events`, EMIT_BODY)] };
    const emit = async (): Promise<GroupResult> =>
      (await client.call<Record<'hot', GroupResult>>('run', { port, seconds: context.seconds, groups: [group] })).hot;
    const parts = {
      ours: emit,
      floor: () => runScript(context, { url, script: counterRow(1), clients: HOT_CLIENTS, seconds: context.seconds }),
    };
    await context.warm(parts);
    const runs = await context.turns(parts);
    const ours = runs.ours.map((run) => run.perSecond);
    const floor = runs.floor.map((run) => run.tps);
    const ratio = pairedRatio(ours, floor);
    const failed = runs.ours.some((run) => Object.keys(run.statuses).some((status) => status !== '201'));
    return [
      {
        bar: 'hot',
        what: `hot city over HTTP, ${HOT_CLIENTS} clients${failed ? ' (not all answers were 201)' : ''}`,
        ours: `${count(median(ours))}/s, p99 ${ms(median(runs.ours.map((run) => run.p99)))}`,
        floor: `${count(median(floor))}/s, p99 ${ms(median(runs.floor.map((run) => run.p99)))}`,
        ratio,
        reach: '≥ 5',
        met: !failed && ratio >= 5,
      },
    ];
  },
};

const HOLD_MS = 2_000;

export const heldCity: Bar = {
  ids: ['P5'],
  title: 'one transaction holds one of 32 cities for 2 s while 31 clients write to the others and 32 to it',
  async run(context) {
    const url = await context.postgres.database(32);
    const client = await context.client('http');
    const { port } = await context.service(url);
    const request = (name: string): string => post(port, `/v0/city/${name}/events`, EMIT_BODY);
    const groups: RequestGroup[] = [
      { name: 'others', connections: 31, requests: NAMES.slice(1).map(request) },
      // At a fixed rate: clients that wait must not leave the others more of the machine than they had.
      { name: 'held', connections: 32, requests: [request(NAMES[0]!)], rate: 100 },
    ];
    const write = (): Promise<Record<'others' | 'held', GroupResult>> => client.call('run', { port, seconds: HOLD_MS / 1000, groups });
    await write(); // warm
    const runs = await context.turns({
      quiet: write,
      held: async () => {
        const holder = new pg.Client({ connectionString: url });
        await holder.connect();
        await holder.query('begin');
        await holder.query('select pg_advisory_xact_lock(1, id) from event_streams where name = $1', [NAMES[0]]);
        const writing = write();
        await sleep(HOLD_MS);
        await holder.query('rollback');
        await holder.end();
        return writing;
      },
    });
    const ratio = pairedRatio(
      runs.held.map((run) => run.others.perSecond),
      runs.quiet.map((run) => run.others.perSecond),
    );
    const longest = Math.max(...runs.held.flatMap((run) => [run.others.max, run.held.max]));
    const answers = new Set(runs.held.flatMap((run) => Object.keys(run.held.statuses)));
    return [
      {
        bar: 'P5',
        what: 'the other 31 cities, one held against none',
        ours: `${count(median(runs.held.map((run) => run.others.perSecond)))}/s`,
        floor: `${count(median(runs.quiet.map((run) => run.others.perSecond)))}/s`,
        ratio,
        reach: '≥ 0.9',
        met: ratio >= 0.9,
      },
      {
        bar: 'P5',
        what: `longest wait of any request (the held city answered ${[...answers].sort().join(', ')})`,
        ours: ms(longest),
        floor: '',
        reach: '≤ 2,500 ms',
        met: longest <= 2_500,
      },
    ];
  },
};
