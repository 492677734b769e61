import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Context, withTempDir } from '../lib/context.js';
import { BenchPostgres } from '../lib/database.js';
import { busySeconds, treeSeconds } from '../lib/machine.js';
import { machineLine, table, type BarResult } from '../lib/report.js';
import { LATENCY } from './bars/latency.js';
import { LIVE } from './bars/live.js';
import { LOADING } from './bars/loading.js';
import { SESSIONS } from './bars/sessions.js';
import { WHOLE } from './bars/whole.js';
import { Stage, type UiBar } from './lib/stage.js';

/**
 * `npm run bench:ui -- [--quick] [--only U4,U5] [--json file]`: what the operator's page takes in a real browser, before a service as
 * an operator runs it. It prints; it asserts nothing. Headless browsers draw by the processor, so figures are pessimistic.
 */
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});
const BARS: readonly UiBar[] = [...LOADING, ...LATENCY, ...LIVE, ...SESSIONS, ...WHOLE];
const wanted = options.only?.split(',').map((id) => id.trim().toLowerCase());
const bars = BARS.filter(({ ids }) => wanted === undefined || ids.some((id) => wanted.includes(id.toLowerCase())));
const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function measure(bar: UiBar, stage: Stage): Promise<BarResult> {
  const id = bar.ids.join('+');
  say(`${id}: ${bar.title}`);
  const started = performance.now();
  const [busy, own] = [busySeconds(), treeSeconds(process.pid)];
  try {
    const lines = await bar.run(stage);
    const seconds = (performance.now() - started) / 1000;
    const othersCores = Math.max(0, (busySeconds() - busy - (treeSeconds(process.pid) - own)) / seconds);
    say(`  ${seconds.toFixed(0)} s, others kept ${othersCores.toFixed(2)} cores busy`);
    return { id, lines, seconds, othersCores };
  } catch (error) {
    say(`  failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    const why = error instanceof Error ? error.message.split('\n')[0]! : String(error);
    return { id, lines: [{ bar: id, what: `failed: ${why}`, ours: '', floor: '', reach: '' }], seconds: 0, othersCores: 0 };
  }
}

async function main(): Promise<void> {
  if (options.list) return console.log(BARS.map((bar) => `${bar.ids.join('+').padEnd(10)} ${bar.title}`).join('\n'));
  const results: BarResult[] = [];
  await withTempDir(async (tempDir) => {
    const postgres = await BenchPostgres.start();
    const context = new Context(options.quick ? 3 : 7, 3, tempDir, postgres, (text) => say(`  ${text}`));
    let interrupted = false;
    process.once('SIGINT', () => (interrupted = true));
    process.once('SIGTERM', () => (interrupted = true));
    try {
      const stage = await Stage.open(context, options.quick);
      for (const bar of bars) if (!interrupted) results.push(await measure(bar, stage));
    } finally {
      await context.stopAll();
      await postgres.stop();
    }
  });
  const noisy = results.filter(({ othersCores }) => othersCores > 0.3).map(({ id }) => id);
  console.log(`${machineLine()}; headless Chromium, which draws by the processor; service, database and browser on the same cores\n`);
  console.log(table(results));
  if (noisy.length > 0) console.log(`\nOther programs kept the machine busy during ${noisy.join(', ')}: measure these again.`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ machine: machineLine(), results }, null, 2)}\n`);
}

await main();
process.exit(0);
