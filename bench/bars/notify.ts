import type { Bar } from '../lib/context.js';
import { cityName } from '../lib/database.js';
import { count, ms } from '../lib/report.js';
import { median, pairedRatio } from '../lib/stats.js';

interface Written {
  readonly perSecond: number;
  readonly p99: number;
  readonly rowsP50: number;
  readonly rowsP99: number;
}

const CITIES = Array.from({ length: 32 }, (_, i) => cityName(i + 1));
const RATE = 1_000;

export const notifier: Bar = {
  ids: ['P4'],
  title: "the service's own committer over 32 cities, with its notifier and without",
  async run(context) {
    const url = await context.postgres.database(32);
    const [on, off] = [await context.client('writer', undefined), await context.client('writer', undefined)];
    await on.call('start', { url, cities: CITIES, notifier: true, reader: false });
    await off.call('start', { url, cities: CITIES, notifier: false, reader: false });
    const { seconds } = context;
    const runs = await context.turns({
      on: () => on.call<Written>('write', { seconds, clients: 32 }),
      off: () => off.call<Written>('write', { seconds, clients: 32 }),
      pacedOn: () => on.call<Written>('write', { seconds, rate: RATE }),
      pacedOff: () => off.call<Written>('write', { seconds, rate: RATE }),
    });
    const perSecond = (all: readonly Written[]): number[] => all.map((run) => run.perSecond);
    const p99 = (all: readonly Written[]): number[] => all.map((run) => run.p99);
    const throughput = pairedRatio(perSecond(runs.on), perSecond(runs.off));
    const tail = pairedRatio(p99(runs.pacedOn), p99(runs.pacedOff));
    return [
      {
        bar: 'P4',
        what: '32 writers, notifier on against off',
        ours: `${count(median(perSecond(runs.on)))}/s`,
        floor: `${count(median(perSecond(runs.off)))}/s`,
        ratio: throughput,
        reach: '≥ 0.97',
        met: throughput >= 0.97,
      },
      {
        bar: 'P4',
        what: `${count(RATE)} writes/s, commit p99 on against off`,
        ours: ms(median(p99(runs.pacedOn))),
        floor: ms(median(p99(runs.pacedOff))),
        ratio: tail,
        reach: '≤ 1.5',
        met: tail <= 1.5,
      },
    ];
  },
};

export const arrival: Bar = {
  ids: ['P6'],
  title: `rows in another replica after the commit, ${RATE} writes/s over 32 cities`,
  async run(context) {
    const url = await context.postgres.database(32);
    const writer = await context.client('writer', undefined);
    await writer.call('start', { url, cities: CITIES, notifier: true, reader: true });
    const { seconds } = context;
    const { runs } = await context.turns({ runs: () => writer.call<Written>('write', { seconds, rate: RATE }) });
    const p50 = median(runs.map((run) => run.rowsP50));
    const p99 = median(runs.map((run) => run.rowsP99));
    return [
      { bar: 'P6', what: 'commit answered to rows elsewhere, p50', ours: ms(p50), floor: '', reach: '≤ 1.5 ms', met: p50 <= 1.5 },
      { bar: 'P6', what: 'commit answered to rows elsewhere, p99', ours: ms(p99), floor: '', reach: '≤ 8 ms', met: p99 <= 8 },
    ];
  },
};
