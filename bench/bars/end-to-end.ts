import { constants, setPriority } from 'node:os';
import type { DriveResult } from '../clients/sse.js';
import type { GroupResult } from '../clients/http.js';
import type { Bar } from '../lib/context.js';
import { cityName } from '../lib/database.js';
import { ms, type Line } from '../lib/report.js';
import { get } from '../lib/requests.js';
import { median, pairedRatio } from '../lib/stats.js';

const CITY = cityName(1);
const STREAM = `/v0/city/${CITY}/events/stream`;
const PAYLOAD = 200;

export const endToEnd: Bar = {
  ids: ['P11'],
  title: 'a write through one replica until the bytes of a stream on another, against a thin slice of two replicas',
  async run(context) {
    const url = await context.postgres.database(1);
    const client = await context.client('sse');
    const [a, b] = [await context.service(url), await context.service(url)];
    const [floorA, floorB] = [await context.floor('slice', { url, tickMs: 0 }), await context.floor('slice', { url, tickMs: 0 })];
    const open = (group: string, count: number, port: number, path: string): Promise<void> =>
      client.call('open', { group, count, port, path });
    await open('ours', 100, b.port, STREAM);
    await open('floor', 100, floorB.port, '/sub');
    const warmSeconds = 0.5;
    const { seconds } = context;
    const emit = { kind: 'emit', port: a.port, cities: [CITY], bytes: PAYLOAD };
    const plain = { kind: 'post', port: floorA.port, path: '/pub', bytes: PAYLOAD };
    const drive = (group: string, rate: number, publishing: unknown, serverPid: number) => (): Promise<DriveResult> =>
      client.call('drive', { group, rate, publishing, serverPid, warmSeconds, seconds });
    const few = await context.turns({
      ours: drive('ours', 50, emit, b.pid),
      floor: drive('floor', 50, plain, floorB.child.pid),
    });
    await client.call('close', { group: 'floor' });
    await open('ours', 900, b.port, STREAM);
    const many = await context.turns({ ours: drive('ours', 200, emit, b.pid) });
    const inTime = median(many.ours.map((run) => run.inTime));
    const p99 = median(many.ours.map((run) => run.p99));
    return [
      latency('p50', few, (run) => run.p50, 7.5),
      latency('p99', few, (run) => run.p99, 15),
      {
        bar: 'P11',
        what: '1,000 subscribers, 200/s: delivered within the run',
        ours: `${(100 * inTime).toFixed(1)} %`,
        floor: '',
        reach: '≥ 98 %',
        met: inTime >= 0.98,
      },
      { bar: 'P11', what: '1,000 subscribers, 200/s: p99', ours: ms(p99), floor: '', reach: '≤ 75 ms', met: p99 <= 75 },
    ];
  },
};

function latency(name: string, runs: { ours: DriveResult[]; floor: DriveResult[] }, of: (run: DriveResult) => number, limit: number): Line {
  const ratio = pairedRatio(runs.ours.map(of), runs.floor.map(of));
  const ours = median(runs.ours.map(of));
  return {
    bar: 'P11',
    what: `100 subscribers, 50/s: ${name}`,
    ours: ms(ours),
    floor: ms(median(runs.floor.map(of))),
    ratio,
    reach: `≤ 1.6, ≤ ${limit} ms`,
    met: ratio <= 1.6 && ours <= limit,
  };
}

export const apiBesideStreams: Bar = {
  ids: ['P12'],
  title: 'requests of a process that feeds 1,000 subscribers 100 events/s, against the same process without subscribers',
  async run(context) {
    const url = await context.postgres.database(1);
    const [streams, requests] = [await context.client('sse'), await context.client('http')];
    // Both clients have one core: who measures does not wait for the one that receives.
    setPriority(requests.pid, constants.priority.PRIORITY_HIGHEST);
    const service = await context.service(url);
    const { port, pid } = service;
    const groups = [{ name: 'get', connections: 4, requests: [get(port, `/v0/city/${CITY}`)], rate: 100 }];
    const seconds = context.seconds * 2;
    const read = async (): Promise<GroupResult> => (await requests.call<Record<'get', GroupResult>>('run', { port, seconds, groups })).get;
    await context.warm({ read });
    const { idle } = await context.turns({ idle: read });
    await streams.call('open', { group: 'ours', count: 1_000, port, path: STREAM });
    const publishing = { kind: 'log', url, cities: [CITY], bytes: PAYLOAD };
    const parts = {
      busy: async () => {
        const driving = streams.call('drive', {
          group: 'ours',
          rate: 100,
          publishing,
          serverPid: pid,
          warmSeconds: 0.3,
          seconds: seconds + 0.7,
        });
        await new Promise((resolve) => setTimeout(resolve, 800));
        await service.reset({ loop: true });
        const get = await read();
        const loop = await service.read();
        await driving;
        return { get, loop };
      },
    };
    await context.warm(parts);
    const { busy } = await context.turns(parts);
    const p99 = (all: readonly GroupResult[]): number[] => all.map((run) => run.p99);
    const ratio = pairedRatio(p99(busy.map((run) => run.get)), p99(idle));
    const loopP99 = median(busy.map((run) => run.loop.loopP99));
    const block = Math.max(...busy.map((run) => run.loop.loopMax));
    return [
      {
        bar: 'P12',
        what: 'GET p99 beside 100,000 deliveries/s against idle',
        ours: ms(median(p99(busy.map((run) => run.get)))),
        floor: ms(median(p99(idle))),
        ratio,
        reach: '≤ 2',
        met: ratio <= 2,
      },
      { bar: 'P12', what: 'event loop delay, p99', ours: ms(loopP99), floor: '', reach: '≤ 15 ms', met: loopP99 <= 15 },
      { bar: 'P12', what: 'event loop, longest block', ours: ms(block), floor: '', reach: '≤ 30 ms', met: block <= 30 },
    ];
  },
};
