import type { DriveResult } from '../clients/sse.js';
import type { Bar, Context } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { ms, us, type Line } from '../lib/report.js';
import { median, pairedRatio } from '../lib/stats.js';
import type { Child } from '../lib/child.js';
import type { Service } from '../lib/service.js';

const CITIES = 1_000;
const SUBSCRIBERS = 1_000;
const RATE = 100;
const PAYLOAD = 200;

export const supervisorStream: Bar = {
  ids: ['P16'],
  title: `the supervisor's stream of ${CITIES} cities against one city's, ${SUBSCRIBERS} subscribers, ${RATE} events/s`,
  async run(context) {
    const url = await context.postgres.database(CITIES);
    const client = await context.client('sse');
    // Each has a process of its own: an event of a city is an event of the supervisor's stream too.
    const [supervisor, city] = [await context.service(url), await context.service(url)];
    const names = Array.from({ length: CITIES }, (_, i) => cityName(i + 1));
    const open = (group: string, port: number, path: string): Promise<void> =>
      client.call('open', { group, count: SUBSCRIBERS, port, path });
    const drive = (group: string, serverPid: number, cities: readonly string[]) => (): Promise<DriveResult> =>
      client.call('drive', {
        group,
        serverPid,
        rate: RATE,
        publishing: { kind: 'log', url, cities, bytes: PAYLOAD },
        warmSeconds: 0.5,
        seconds: context.seconds,
      });
    await open('city', city.port, `/v0/city/${names[0]}/events/stream`);
    const cityRuns = await context.turns({ runs: drive('city', city.pid, names.slice(0, 1)) });
    await client.call('close', { group: 'city' });
    await open('supervisor', supervisor.port, '/v0/events/stream');
    const supervisorRuns = await context.turns({ runs: drive('supervisor', supervisor.pid, names) });
    const runs = { supervisor: supervisorRuns.runs, city: cityRuns.runs };
    const against = (of: (run: DriveResult) => number): number => pairedRatio(runs.supervisor.map(of), runs.city.map(of));
    const of = (all: readonly DriveResult[], what: (run: DriveResult) => number): number => median(all.map(what));
    const bytes = against((run) => run.bytesPerDelivery);
    const cpu = against((run) => run.serverCpuUsPerDelivery);
    return [
      {
        bar: 'P16',
        what: 'bytes a delivery',
        ours: of(runs.supervisor, (run) => run.bytesPerDelivery).toFixed(0),
        floor: of(runs.city, (run) => run.bytesPerDelivery).toFixed(0),
        ratio: bytes,
        reach: '≤ 1.5',
        met: bytes <= 1.5,
      },
      {
        bar: 'P16',
        what: `CPU a delivery (in time: ${(100 * of(runs.supervisor, (run) => run.inTime)).toFixed(1)} %)`,
        ours: us(of(runs.supervisor, (run) => run.serverCpuUsPerDelivery)),
        floor: us(of(runs.city, (run) => run.serverCpuUsPerDelivery)),
        ratio: cpu,
        reach: '≤ 1.5',
        met: cpu <= 1.5,
      },
    ];
  },
};

const FEW = 10;
const MANY = 10_000;

interface Times {
  readonly list: number;
  readonly cursor: number;
  readonly open: number;
  readonly resume: number;
}

export const manyCities: Bar = {
  ids: ['many'],
  title: `a supervisor of ${MANY} cities against one of ${FEW}`,
  async run(context) {
    const client = await context.client('sse');
    const few = await supervisor(context, FEW);
    const many = await supervisor(context, MANY);
    const parts = { many: () => times(client, many), few: () => times(client, few) };
    await context.turns(parts, 2); // warm
    const runs = await context.turns(parts, context.rounds * 2);
    const line = (what: string, of: (run: Times) => number, limit?: number): Line => {
      const ours = median(runs.many.map(of));
      const ratio = pairedRatio(runs.many.map(of), runs.few.map(of));
      const linear = MANY / FEW;
      const reach = limit === undefined ? `≤ ${linear}` : `≤ ${limit} ms`;
      const met = limit === undefined ? ratio <= linear : ours <= limit;
      return { bar: 'many', what, ours: ms(ours), floor: ms(median(runs.few.map(of))), ratio, reach, met };
    };
    return [
      line('list of cities', (run) => run.list, 50),
      line("cursor capture (the list of the supervisor's events)", (run) => run.cursor),
      line("open the supervisor's stream", (run) => run.open),
      line('resume it from its last id, 10 events behind', (run) => run.resume),
    ];
  },
};

interface Supervisor {
  readonly url: string;
  readonly service: Service;
}

async function supervisor(context: Context, cities: number): Promise<Supervisor> {
  const url = await context.postgres.database(cities);
  return { url, service: await context.service(url) };
}

async function times(client: Child, { url, service }: Supervisor): Promise<Times> {
  const { port } = service;
  const list = await timed(port, '/v0/cities');
  const cursor = await timed(port, '/v0/events?limit=1');
  const first = await client.call<{ ms: number; id: string }>('firstFrame', { port, path: '/v0/events/stream' });
  await withClient(url, (writer) => writer.query(TEN_EVENTS));
  const headers = { 'Last-Event-ID': first.id };
  const resumed = await client.call<{ ms: number }>('firstFrame', { port, path: '/v0/events/stream', headers });
  return { list, cursor, open: first.ms, resume: resumed.ms };
}

const TEN_EVENTS = `select append_events(jsonb_agg(jsonb_build_object('stream', 'city-0000' || (n % 9 + 1), 'type', 'bench.tick', 'actor', 'agent-7',
  'payload', '{}'::jsonb))) from generate_series(1, 10) n`;

async function timed(port: number, path: string): Promise<number> {
  const started = performance.now();
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  await answer.text();
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
  return performance.now() - started;
}
