import type { DriveResult } from '../clients/sse.js';
import { startNchan } from '../floors/nchan.js';
import type { Bar, Context } from '../lib/context.js';
import { cityName } from '../lib/database.js';
import type { Publishing } from '../lib/publishers.js';
import { count, ms, us, type Line } from '../lib/report.js';
import { median, pairedRatio } from '../lib/stats.js';

const SUBSCRIBERS = 1_000;
/** Both servers' frames are about as long. */
const PAYLOAD = 200;
const ENVELOPE = 150;
const CITY = cityName(1);

export const fanOut: Bar = {
  ids: ['P8', 'P9', 'P10'],
  title: `event streams: ${SUBSCRIBERS} subscribers of one city, events written by another replica, against nchan`,
  async run(context) {
    const url = await context.postgres.database(1);
    const client = await context.client('sse');
    const service = await context.service(url);
    await client.call('open', { group: 'ours', count: SUBSCRIBERS, port: service.port, path: `/v0/city/${CITY}/events/stream` });
    const ours = (rate: number) => (): Promise<DriveResult> =>
      client.call('drive', drive(context, 'ours', rate, service.pid, { kind: 'log', url, cities: [CITY], bytes: PAYLOAD }));

    const nchan = await startNchan(context.tempDir);
    if (nchan === undefined) {
      context.say('nginx with nchan is not installed: no floor');
      return alone(await context.turns({ at50: ours(50), at250: ours(250), at600: ours(600) }));
    }
    context.onStop(() => nchan.stop());
    await client.call('open', { group: 'nchan', count: SUBSCRIBERS, port: nchan.port, path: '/sub', mark: '"t":"' });
    const floor = (rate: number) => (): Promise<DriveResult> =>
      client.call(
        'drive',
        drive(context, 'nchan', rate, nchan.workerPid, { kind: 'post', port: nchan.port, path: '/pub', bytes: PAYLOAD + ENVELOPE }),
      );
    const runs = await context.turns({
      floor50: floor(50),
      at50: ours(50),
      floor200: floor(200),
      at250: ours(250),
      floor300: floor(300),
      at400: ours(400),
      at600: ours(600),
    });
    return against(runs);
  },
};

function drive(context: Context, group: string, rate: number, serverPid: number, publishing: Publishing): Record<string, unknown> {
  return { group, rate, serverPid, publishing, warmSeconds: 0.5, seconds: context.seconds };
}

type Runs = Record<'floor50' | 'at50' | 'floor200' | 'at250' | 'floor300' | 'at400' | 'at600', DriveResult[]>;

function against(runs: Runs): Line[] {
  const p99 = (all: readonly DriveResult[]): number[] => all.map((run) => run.p99);
  const cpu = (all: readonly DriveResult[]): number[] => all.map((run) => run.serverCpuUsPerDelivery);
  const late = pairedRatio(p99(runs.at50), p99(runs.floor50));
  const cpu50 = pairedRatio(cpu(runs.at50), cpu(runs.floor50));
  const best = runs.floor200.map((run, i) => Math.min(run.serverCpuUsPerDelivery, runs.floor300[i]!.serverCpuUsPerDelivery));
  const cpu250 = pairedRatio(cpu(runs.at250), best);
  const ceiling = ceilingOf([runs.at250, runs.at400, runs.at600], 100);
  const floorCeiling = ceilingOf([runs.floor50, runs.floor200, runs.floor300], Infinity);
  const ratio = ceiling.perSecond / floorCeiling.perSecond;
  return [
    {
      bar: 'P8',
      what: '50 events/s: p99, against nchan',
      ours: ms(median(p99(runs.at50))),
      floor: ms(median(p99(runs.floor50))),
      ratio: late,
      reach: '≤ 1.5',
      met: late <= 1.5,
    },
    {
      bar: 'P8',
      what: '50 events/s: CPU a delivery, against nchan',
      ours: us(median(cpu(runs.at50))),
      floor: us(median(cpu(runs.floor50))),
      ratio: cpu50,
      reach: '≤ 1.2',
      met: cpu50 <= 1.2,
    },
    ...at250(runs.at250),
    {
      bar: 'P9',
      what: '250 events/s: CPU a delivery, against nchan at its best',
      ours: us(median(cpu(runs.at250))),
      floor: us(median(best)),
      ratio: cpu250,
      reach: '≤ 0.75',
      met: cpu250 <= 0.75,
    },
    {
      bar: 'P10',
      what: 'ceiling of one core, against nchan',
      ours: `${count(ceiling.perSecond)}/s, p99 ${ms(ceiling.p99)}`,
      floor: `${count(floorCeiling.perSecond)}/s, p99 ${ms(floorCeiling.p99)}`,
      ratio,
      reach: '≥ 2, p99 ≤ 100 ms',
      met: ratio >= 2 && ceiling.p99 <= 100,
    },
  ];
}

function at250(runs: readonly DriveResult[]): Line[] {
  const inTime = median(runs.map((run) => run.inTime));
  const p99 = median(runs.map((run) => run.p99));
  return [
    {
      bar: 'P9',
      what: '250 events/s: delivered within the run',
      ours: `${(100 * inTime).toFixed(2)} %`,
      floor: '',
      reach: '≥ 99.5 %',
      met: inTime >= 0.995,
    },
    { bar: 'P9', what: '250 events/s: p99', ours: ms(p99), floor: '', reach: '≤ 60 ms', met: p99 <= 60 },
  ];
}

function alone(runs: Record<'at50' | 'at250' | 'at600', DriveResult[]>): Line[] {
  const ceiling = ceilingOf([runs.at50, runs.at250, runs.at600], 100);
  return [
    { bar: 'P8', what: '50 events/s: p99', ours: ms(median(runs.at50.map((run) => run.p99))), floor: 'no nchan', reach: '' },
    ...at250(runs.at250),
    { bar: 'P10', what: 'ceiling of one core', ours: `${count(ceiling.perSecond)}/s`, floor: 'no nchan', reach: '' },
  ];
}

/** The most that was delivered a second at a rate which the server kept up with. */
function ceilingOf(rates: readonly (readonly DriveResult[])[], p99Limit: number): { perSecond: number; p99: number } {
  const seen = rates.map((runs) => ({
    perSecond: median(runs.map((run) => run.deliveredPerSecond)),
    p99: median(runs.map((run) => run.p99)),
    inTime: median(runs.map((run) => run.inTime)),
  }));
  const kept = seen.filter((run) => run.inTime >= 0.97 && run.p99 <= p99Limit);
  return (kept.length > 0 ? kept : seen.slice(0, 1)).reduce((a, b) => (b.perSecond > a.perSecond ? b : a));
}
