import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { check } from './checker.js';
import { loadHistory } from './history.js';
import { runRound, type Round } from './round.js';
import { ChaosPostgres, ChaosRedis } from './servers.js';

const HELP = `npm run chaos -- [options]
  --seeds N        how many seeds to run (1)
  --seed S         the first seed (1)
  --seconds T      how long harm is done in each (12)
  --every MS       how often harm is done, on average (900)
  --queue KIND     redis or postgres (redis; every fifth seed uses postgres)
  --keep           save every history, not only those with violations
  --check FILE     judge a saved history again`;
const DIRECTORY = '.chaos';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '12' },
    every: { type: 'string', default: '900' },
    queue: { type: 'string' },
    keep: { type: 'boolean', default: false },
    check: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function tell(round: Round): void {
  const { seed, violations, deliveries, writes, changes, edits, operations, faults, lateness } = round;
  const verdict = violations.length === 0 ? 'ok' : `${violations.length} VIOLATIONS`;
  console.log(
    `seed ${seed}: ${verdict}; ${deliveries} deliveries, ${writes} writes, ${changes} changes of work, ${edits} of configuration, ${operations} operations, ${faults} faults; ` +
      `write to frame p50 ${lateness.p50} ms, p99 ${lateness.p99} ms, max ${lateness.max} ms`,
  );
  for (const { property, message, entries } of violations.slice(0, 10)) {
    console.log(`  ${property}: ${message}`);
    for (const entry of entries.slice(0, 3)) console.log(`    ${JSON.stringify(entry).slice(0, 400)}`);
  }
  if (violations.length > 0) {
    console.log(`  history: ${DIRECTORY}/${seed}.jsonl, logs: ${DIRECTORY}/${seed}/`);
    console.log(`  again:   npm run chaos -- --seed ${seed}    judge again: npm run chaos -- --check ${DIRECTORY}/${seed}.jsonl`);
  }
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.check !== undefined) {
    const violations = check(await loadHistory(values.check));
    for (const v of violations) console.log(`${v.property}: ${v.message}\n    ${JSON.stringify(v.entries).slice(0, 800)}`);
    console.log(`${violations.length} violations`);
    return violations.length === 0 ? 0 : 1;
  }
  await mkdir(DIRECTORY, { recursive: true });
  const postgres = await ChaosPostgres.start();
  const redis = await ChaosRedis.start();
  const rounds: Round[] = [];
  let failed = 0;
  try {
    const first = Number(values.seed);
    for (let seed = first; seed < first + Number(values.seeds); seed++) {
      const queue = values.queue ?? (seed % 5 === 0 ? 'postgres' : 'redis');
      if (queue !== 'redis' && queue !== 'postgres') throw new Error('--queue is redis or postgres');
      const options = {
        seed,
        seconds: Number(values.seconds),
        faultEveryMs: Number(values.every),
        queue,
        directory: DIRECTORY,
        keep: values.keep,
      } as const;
      const round = await runRound(postgres, redis, options);
      rounds.push(round);
      tell(round);
      if (round.violations.length > 0) failed++;
    }
  } finally {
    await redis.stop();
    await postgres.stop();
  }
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  await writeFile(`${DIRECTORY}/summary.json`, JSON.stringify(rounds, null, 2));
  const ends = new Map<string, number>();
  for (const how of rounds.flatMap((r) => r.exits)) ends.set(how, (ends.get(how) ?? 0) + 1);
  console.log(
    `ends of processes: ${[...ends]
      .sort()
      .map(([how, n]) => `${how} ${n}`)
      .join(', ')}`,
  );
  console.log(
    `${rounds.length} seeds, ${failed} with violations; ${sum((r) => r.deliveries)} deliveries, ${sum((r) => r.operations)} operations`,
  );
  return failed === 0 ? 0 : 1;
}

process.exit(await main());
