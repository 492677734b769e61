import { parseArgs } from 'node:util';
import { Context, withTempDir } from '../lib/context.js';
import { BenchPostgres } from '../lib/database.js';
import { machineLine, table } from '../lib/report.js';
import { across } from './across.js';
import { big } from './big/main.js';
import { costs } from './costs.js';
import { simulate, type Coefficients, type Load } from './model.js';
import { sizes } from './sizes.js';

/**
 * `npm run bench:scale`: what an event, a bead, an entry, a session and a city take of the database, what the statements of the product take of its
 * processors, what a thousand replicas would do to it by these, and how long answers over all cities take. `-- --only sizes,costs,replicas,across`;
 * docs/explanation/scale.md has the figures. `-- --only big` fills a database with fifty million events first (30 GB of disk, ten minutes), with `--quick`
 * five million; `--data FOLDER` keeps it for the next time, `--cases WORDS` asks some of it.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'sizes,costs,replicas,across' },
    quick: { type: 'boolean', default: false },
    data: { type: 'string' },
    cases: { type: 'string', default: '' },
  },
});
const wanted = new Set(options.only.split(','));
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const shown = (name: string, found: object): void => {
  console.log(`\n${name}`);
  for (const [what, value] of Object.entries(found)) console.log(`  ${what.padEnd(16)} ${(value as number).toFixed(value < 10 ? 2 : 0)}`);
};

const REPLICAS = [1, 3, 10, 30, 100, 300, 1_000];
const CASES: readonly (readonly [name: string, load: (replicas: number) => Omit<Load, 'replicas'>])[] = [
  ['500 events/s of 10,000 cities; every replica follows every city', () => ({ writes: 500, cities: 10_000, follow: 1, cores: 16 })],
  [
    '500 events/s of 10,000 cities; each city is followed at three replicas',
    (replicas) => ({ writes: 500, cities: 10_000, follow: Math.min(1, 3 / replicas), cores: 16 }),
  ],
  [
    '5,000 events/s of 100,000 cities; each city is followed at three replicas',
    (replicas) => ({ writes: 5_000, cities: 100_000, follow: Math.min(1, 3 / replicas), cores: 64 }),
  ],
];

function curve(coefficients: Coefficients): void {
  for (const [name, load] of CASES) {
    console.log(`\n${name} (${load(1).cores} processors)`);
    console.log('replicas      p50      p99   cores: writes  notify   reads   polls cursors     all  hints/s');
    for (const replicas of REPLICAS) {
      const { p50, p99, share, busy, notifies } = simulate(coefficients, { replicas, ...load(replicas) }, 3);
      const { writes, notify, reads, polls, cursors } = share;
      const cores = [writes, notify, reads, polls, cursors, busy].map((n) => n.toFixed(2).padStart(8)).join('');
      console.log(
        `${String(replicas).padStart(8)} ${p50.toFixed(1).padStart(8)} ${p99.toFixed(1).padStart(8)}     ${cores} ${notifies.toFixed(0).padStart(8)}`,
      );
    }
  }
}

await withTempDir(async (tempDir) => {
  const postgres = await BenchPostgres.start();
  const context = new Context(1, 1, tempDir, postgres, say);
  try {
    console.log(machineLine());
    if (wanted.has('sizes')) shown('bytes in the database', await sizes(context));
    if (wanted.has('costs') || wanted.has('replicas')) {
      const found = await costs(postgres);
      shown('microseconds of a processor of the database', found);
      if (wanted.has('replicas')) curve(found);
    }
    if (wanted.has('big'))
      console.log(
        `\n${table([{ id: 'big', lines: await big({ quick: options.quick, data: options.data, cases: options.cases }, tempDir, say), seconds: 0, othersCores: 0 }])}`,
      );
    if (wanted.has('across')) console.log(`\n${table([{ id: 'across', lines: await across(postgres), seconds: 0, othersCores: 0 }])}`);
  } finally {
    await context.stopAll();
    await postgres.stop();
  }
});
