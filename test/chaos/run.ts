import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { CityRound } from './city-round.js';
import { CITY_KINDS, judged } from './kinds.js';
import { runRound, type Round } from './round.js';
import { ChaosPostgres, ChaosRedis } from './servers.js';
import type { Violation } from './violations.js';

const KINDS = ['log', ...Object.keys(CITY_KINDS)];
const HELP = `npm run chaos -- [options]
  --seeds N        how many seeds to run (1)
  --sessions N     how many of them also get a round with sessions (a fifth of the seeds, at least one)
  --only KIND      nothing but rounds of a kind: ${KINDS.join(', ')}
  --seed S         the first seed (1)
  --seconds T      how long harm is done in each (12; 20 in rounds of the other kinds than log)
  --every MS       how often harm is done, on average (900)
  --queue KIND     redis or postgres (redis; every fifth seed uses postgres)
  --keep           save every history, not only those with violations
  --check FILE     judge a saved history again`;
const DIRECTORY = '.chaos';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    sessions: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string' },
    every: { type: 'string', default: '900' },
    queue: { type: 'string' },
    keep: { type: 'boolean', default: false },
    check: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function tell(round: Round): void {
  const { seed, violations, deliveries, writes, changes, edits, operations, faults, lateness } = round;
  console.log(
    `seed ${seed}: ${verdict(violations)}; ${deliveries} deliveries, ${writes} writes, ${changes} changes of work, ${edits} of configuration, ${operations} operations, ${faults} faults; ` +
      `write to frame p50 ${lateness.p50} ms, p99 ${lateness.p99} ms, max ${lateness.max} ms`,
  );
  tellViolations(violations, seed, 'log');
}

function tellCity(kind: string, { seed, violations, faults, counts }: CityRound): void {
  const counted = Object.entries({ ...counts, faults }).map(([what, count]) => `${count} ${what}`);
  console.log(`${kind} of seed ${seed}: ${verdict(violations)}; ${counted.join(', ')}`);
  tellViolations(violations, seed, kind);
}

const verdict = ({ length }: readonly Violation[]): string => (length === 0 ? 'ok' : `${length} VIOLATIONS`);

function tellViolations(violations: readonly Violation[], seed: number, kind: string): void {
  for (const { property, message, entries } of violations.slice(0, 10)) {
    console.log(`  ${property}: ${message}`);
    for (const entry of entries.slice(0, 3)) console.log(`    ${JSON.stringify(entry)?.slice(0, 400)}`);
  }
  if (violations.length === 0) return;
  const files = `${DIRECTORY}/${kind === 'log' ? '' : `${kind}-`}${seed}`;
  console.log(`  history: ${files}.jsonl, logs: ${files}/`);
  console.log(`  again:   npm run chaos -- --only ${kind} --seed ${seed}    judge again: npm run chaos -- --check ${files}.jsonl`);
}

/** Which rounds a seed gets. */
function kinds(nth: number, seeds: number): readonly string[] {
  const { only } = values;
  if (only === undefined) return nth < Number(values.sessions ?? Math.ceil(seeds / 5)) ? ['log', 'sessions'] : ['log'];
  if (!KINDS.includes(only)) throw new Error(`--only is one of ${KINDS.join(', ')}`);
  return [only];
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.check !== undefined) {
    const violations = await judged(values.check);
    for (const v of violations) console.log(`${v.property}: ${v.message}\n    ${JSON.stringify(v.entries).slice(0, 800)}`);
    console.log(`${violations.length} violations`);
    return violations.length === 0 ? 0 : 1;
  }
  await mkdir(DIRECTORY, { recursive: true });
  const postgres = await ChaosPostgres.start();
  const redis = await ChaosRedis.start();
  const rounds: Round[] = [];
  const others: CityRound[] = [];
  try {
    const first = Number(values.seed);
    for (let seed = first; seed < first + Number(values.seeds); seed++) {
      const queue = values.queue ?? (seed % 5 === 0 ? 'postgres' : 'redis');
      if (queue !== 'redis' && queue !== 'postgres') throw new Error('--queue is redis or postgres');
      const options = { seed, faultEveryMs: Number(values.every), queue, directory: DIRECTORY, keep: values.keep } as const;
      for (const kind of kinds(seed - first, Number(values.seeds))) {
        const seconds = Number(values.seconds ?? (kind === 'log' ? 12 : 20));
        if (kind === 'log') {
          const round = await runRound(postgres, redis, { ...options, seconds });
          rounds.push(round);
          tell(round);
        } else {
          const round = await CITY_KINDS[kind]!.run(postgres, redis, { ...options, seconds });
          others.push(round);
          tellCity(kind, round);
        }
      }
    }
  } finally {
    await redis.stop();
    await postgres.stop();
  }
  const all = [...rounds, ...others];
  const failed = all.filter(({ violations }) => violations.length > 0).length;
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  await writeFile(`${DIRECTORY}/summary.json`, JSON.stringify(all, null, 2));
  const ends = new Map<string, number>();
  for (const how of all.flatMap((r) => r.exits)) ends.set(how, (ends.get(how) ?? 0) + 1);
  console.log(
    `ends of processes: ${[...ends]
      .sort()
      .map(([how, n]) => `${how} ${n}`)
      .join(', ')}`,
  );
  console.log(
    `${all.length} rounds, ${failed} with violations; ${sum((r) => r.deliveries)} deliveries, ${sum((r) => r.operations)} operations`,
  );
  return failed === 0 ? 0 : 1;
}

process.exit(await main());
