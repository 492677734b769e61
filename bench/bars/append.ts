import type { Bar, Context } from '../lib/context.js';
import { runScript, type ScriptResult } from '../lib/pgbench.js';
import { count, ms, type Line } from '../lib/report.js';
import { counterRow, emit, emitBatch, emitNotify, rowOnly } from '../lib/scripts.js';
import { median, pairedRatio } from '../lib/stats.js';

const tps = (runs: readonly ScriptResult[]): number[] => runs.map((run) => run.tps);

const runner =
  (context: Context, url: string, script: string, clients: number): (() => Promise<ScriptResult>) =>
  () =>
    runScript(context, { url, script, clients, seconds: context.seconds });

export const append: Bar = {
  ids: ['P1'],
  title: "append: the service's emit statement with an idempotency record, 32 cities, 32 clients",
  async run(context) {
    const url = await context.postgres.database(32);
    const runs = await context.turns({
      ours: runner(context, url, emit(32), 32),
      row: runner(context, url, rowOnly(32), 32),
      notify: runner(context, url, emitNotify(32), 32),
    });
    const ours = tps(runs.ours);
    const line = (what: string, floor: number[], reach: number): Line => {
      const ratio = pairedRatio(ours, floor);
      return {
        bar: 'P1',
        what,
        ours: `${count(median(ours))}/s`,
        floor: `${count(median(floor))}/s`,
        ratio,
        reach: `≥ ${reach}`,
        met: ratio >= reach,
      };
    };
    return [line('append, against a row without any log', tps(runs.row), 0.8), line('append, against NOTIFY inside', tps(runs.notify), 10)];
  },
};

export const hotCity: Bar = {
  ids: ['P2', 'P3'],
  title: 'one hot city: 32 clients against one, single and in batches of 10',
  async run(context) {
    const url = await context.postgres.database(32);
    const runs = await context.turns({
      one: runner(context, url, emit(1), 1),
      many: runner(context, url, emit(1), 32),
      batch: runner(context, url, emitBatch(1, 10), 32),
      counterOne: runner(context, url, counterRow(1), 1),
      counterMany: runner(context, url, counterRow(1), 32),
    });
    const throughput = pairedRatio(tps(runs.many), tps(runs.one));
    const p99 = (many: readonly ScriptResult[]): number[] => many.map((run) => run.p99);
    const fair = (one: readonly ScriptResult[]): number[] => one.map((run) => 32 * run.p50);
    const tail = pairedRatio(p99(runs.many), fair(runs.one));
    const batch = pairedRatio(
      tps(runs.batch).map((n) => n * 10),
      tps(runs.many),
    );
    return [
      {
        bar: 'P2',
        what: 'hot city, 32 clients against one alone',
        ours: `${count(median(tps(runs.many)))}/s`,
        floor: `${count(median(tps(runs.one)))}/s`,
        ratio: throughput,
        reach: '≥ 0.95',
        met: throughput >= 0.95,
      },
      {
        bar: 'P2',
        what: "hot city, p99 against 32 × one client's p50",
        ours: ms(median(p99(runs.many))),
        floor: ms(median(fair(runs.one))),
        ratio: tail,
        reach: '≤ 1.5',
        met: tail <= 1.5,
      },
      {
        bar: 'P2',
        what: 'the same of the counter row',
        ours: ms(median(p99(runs.counterMany))),
        floor: ms(median(fair(runs.counterOne))),
        ratio: pairedRatio(p99(runs.counterMany), fair(runs.counterOne)),
        reach: '',
      },
      {
        bar: 'P3',
        what: 'hot city, events in batches of 10 against single',
        ours: `${count(10 * median(tps(runs.batch)))}/s`,
        floor: `${count(median(tps(runs.many)))}/s`,
        ratio: batch,
        reach: '≥ 7',
        met: batch >= 7,
      },
    ];
  },
};
