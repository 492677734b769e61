import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BARS } from './bars/all.js';
import { Context, withTempDir, type Bar } from './lib/context.js';
import { BenchPostgres } from './lib/database.js';
import { busySeconds, isPinned, treeSeconds } from './lib/machine.js';
import { machineLine, table, type BarResult } from './lib/report.js';

/**
 * `npm run bench -- [--quick] [--only P8,P9] [--unpinned] [--json file]`: measures the service against floors on the same machine
 * in the same run. It prints; it asserts nothing.
 */
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    unpinned: { type: 'boolean', default: false },
    json: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

const wanted = options.only?.split(',').map((id) => id.trim().toLowerCase());
const bars = BARS.filter((bar) => wanted === undefined || bar.ids.some((id) => wanted.includes(id.toLowerCase())));
const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function measure(bar: Bar, postgres: BenchPostgres, tempDir: string): Promise<BarResult> {
  const id = bar.ids.join('+');
  say(`${id}: ${bar.title}`);
  const context = new Context(options.quick ? 3 : 5, options.quick ? 1.5 : 3, tempDir, postgres, (text) => say(`  ${text}`));
  const started = performance.now();
  const busy = busySeconds();
  const own = treeSeconds(process.pid);
  try {
    const lines = await bar.run(context);
    await context.stopAll();
    const seconds = (performance.now() - started) / 1000;
    const othersCores = Math.max(0, (busySeconds() - busy - (treeSeconds(process.pid) - own)) / seconds);
    say(`  ${seconds.toFixed(0)} s, others kept ${othersCores.toFixed(2)} cores busy`);
    return { id, lines, seconds, othersCores };
  } catch (error) {
    await context.stopAll();
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
    let interrupted = false;
    process.once('SIGINT', () => (interrupted = true));
    process.once('SIGTERM', () => (interrupted = true));
    try {
      for (const bar of bars) if (!interrupted) results.push(await measure(bar, postgres, tempDir));
    } finally {
      await postgres.stop();
    }
  });
  const noisy = results.filter((result) => result.othersCores > 0.3).map((result) => result.id);
  console.log(
    `${machineLine()}; PostgreSQL in RAM with a 1 ms flush; ${isPinned ? 'servers on one core' : 'no program on a core of its own'}; medians of ${options.quick ? 3 : 5} rounds\n`,
  );
  console.log(table(results));
  if (noisy.length > 0) console.log(`\nOther programs kept the machine busy during ${noisy.join(', ')}: measure these again.`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ machine: machineLine(), results }, null, 2)}\n`);
}

await main();
process.exit(0);
