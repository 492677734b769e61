/**
 * Takes each guard of the product out and shows that its test fails: `npm run test:guards`. The work is done in copies of
 * the checkout, on servers that all runs share.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { migrateAll } from '../../src/entry/schema.js';
import { adminAt, withDatabase } from '../support/database.js';
import { throwAwayServer } from '../support/scratch-database.js';
import { redisServerPath, startRedis } from '../support/redis.js';
import { GUARDS } from './all.js';
import { makeCopy, removeCopy, ROOT, taken, without } from './copies.js';
import type { Guard } from './guard.js';
import { projectOf, run, stopRuns } from './jest.js';
import { Types } from './types.js';

const { values } = parseArgs({
  options: {
    /** Any of them. */
    only: { type: 'string', multiple: true, default: [''] },
    /** As in 2/30: the second of thirty parts. */
    share: { type: 'string', default: '1/1' },
    list: { type: 'boolean' },
    /** Nothing but whether what each becomes can be compiled. */
    types: { type: 'boolean', default: false },
    /** Nothing but the proofs: who asks knows that all tests are green, and has the types looked at elsewhere. */
    trusted: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
  },
});
const jobs = Number(values.jobs);
const fits = ({ guard, file, test }: Guard): boolean => [guard, file, test].some((text) => values.only.some((word) => text.includes(word)));
const [share, shares] = values.share.split('/').map(Number) as [number, number];
const chosen = GUARDS.filter((guard, i) => fits(guard) && i % shares === share - 1);
const results = { passed: 0, failed: 0 };

/** What migrates a database, and what that makes of it. */
const SCHEMA = /^(db|src\/entry|src\/platform\/(database|queue))\//;
/** Failures that come from a statement or a name that is broken, or from a file that is not there, not from a guard that is missing. */
const BROKEN = /syntax error at or near|ReferenceError|SyntaxError|Cannot find (module|package)|not built yet/;

function tell(ok: boolean, text: string): void {
  results[ok ? 'passed' : 'failed']++;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${text}`);
}

/** What each guard becomes can be found and compiled. */
async function uptodate(): Promise<Guard[]> {
  const problems = new Map<Guard, string>();
  const texts = new Map<Guard, string>();
  for (const guard of chosen) {
    await without(guard, ROOT).then(
      (text) => texts.set(guard, text),
      (error: unknown) => problems.set(guard, String(error)),
    );
  }
  if (!values.trusted) for (const [guard, problem] of wrong(texts)) problems.set(guard, problem);
  const good: Guard[] = [];
  for (const guard of chosen) {
    const problem = problems.get(guard);
    if (problem !== undefined) tell(false, `${guard.guard}: ${problem}`);
    else if (guard.unproven !== undefined) console.log(`     ${guard.guard}: not proved, ${guard.unproven}`);
    else if (values.types) tell(true, guard.guard);
    else good.push(guard);
  }
  return good;
}

/** Guards of different files are compiled together. A file that is wrong is compiled alone, so that no other is to blame. */
function* wrong(texts: ReadonlyMap<Guard, string>): Generator<[Guard, string]> {
  const types = new Types(ROOT);
  const waiting = [...Map.groupBy(texts.keys(), ({ file }) => file).values()];
  for (let nth = 0; waiting.some((guards) => nth < guards.length); nth++) {
    const round = waiting.flatMap((guards) => guards.slice(nth, nth + 1));
    const found = types.wrong(new Map(round.map((guard) => [guard.file, texts.get(guard)!])));
    for (const guard of round.filter(({ file }) => found.has(file))) {
      const problem = types.wrong(new Map([[guard.file, texts.get(guard)!]])).get(guard.file);
      if (problem !== undefined) yield [guard, problem];
    }
  }
}

/** The test files as they are: all green. Whole files run together; of a slow one only the tests that are named. */
async function unchanged(guards: readonly Guard[], dir: string): Promise<boolean> {
  const names = new Map<string, Set<string> | undefined>();
  for (const { test, name } of guards) {
    const known = names.has(test) ? names.get(test) : new Set<string>();
    names.set(test, name === undefined || known === undefined ? undefined : known.add(name));
  }
  const whole = Map.groupBy(
    [...names].flatMap(([test, only]) => (only === undefined ? [test] : [])),
    projectOf,
  );
  const runs: { files: string[]; only: string[] }[] = [...whole.values()].map((files) => ({ files, only: [] }));
  for (const [test, only] of names) if (only !== undefined) runs.push({ files: [test], only: [...only] });
  let green = true;
  for (const { files, only } of runs) {
    const { failed, broken } = await run(dir, files, { names: only, workers: jobs });
    const why = broken ?? failed.map(({ name, message }) => `${name}\n${message}`).join('\n');
    if (why === '') continue;
    green = false;
    tell(false, `with every guard in its place: ${why}`);
  }
  return green;
}

/** What races is not lost each time on a machine that is slow just then. A test that finds it now and then guards it still, and is told of. */
const TRIES = 3;

async function prove(guard: Guard, dir: string): Promise<void> {
  const began = Date.now();
  const env = SCHEMA.test(guard.file) ? { TEST_DATABASE_TEMPLATE: undefined } : {};
  const names = guard.name === undefined ? [] : [guard.name];
  for (let n = 1; n <= TRIES; n++) {
    const { failed, passed, broken } = await taken(guard, dir, () => run(dir, [guard.test], { names, env }));
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    const honest = failed.find(({ message }) => !BROKEN.test(message));
    const found = n === 1 ? '' : `, found at try ${n}`;
    if (broken !== undefined) return tell(false, `${guard.guard}: ${broken}`);
    if (honest !== undefined)
      return tell(true, `${guard.guard} (${seconds} s${found}, ${failed.length} of ${passed + failed.length} fail: ${honest.name})`);
    if (failed.length > 0) return tell(false, `${guard.guard}: what was changed is broken: ${failed[0]!.message}`);
  }
  tell(false, `${guard.guard}: NOT FOUND by ${guard.test} in ${TRIES} tries (${((Date.now() - began) / 1000).toFixed(1)} s)`);
}

/** What the tests clone, made once for all runs. */
async function migrated(server: string): Promise<{ name: string; drop(): Promise<void> }> {
  const name = `svc_guards_${process.pid}_${randomBytes(3).toString('hex')}`;
  await adminAt(server, `create database ${name} template template0`);
  await migrateAll(withDatabase(server, name));
  return { name, drop: async () => void (await adminAt(server, `drop database ${name} with (force)`)) };
}

async function proveAll(guards: readonly Guard[]): Promise<void> {
  const stops: (() => Promise<void>)[] = [];
  try {
    if (process.env.TEST_DATABASE_URL === undefined) {
      const database = await throwAwayServer();
      stops.push(database.stop);
      process.env.TEST_DATABASE_URL = database.url;
    }
    const template = await migrated(process.env.TEST_DATABASE_URL!);
    stops.push(template.drop);
    process.env.TEST_DATABASE_TEMPLATE = template.name;
    if (process.env.TEST_REDIS_URL === undefined && redisServerPath() !== undefined) {
      const redis = await startRedis();
      stops.push(redis.stop);
      process.env.TEST_REDIS_URL = redis.url;
    }
    const copies = await Promise.all(Array.from({ length: jobs }, makeCopy));
    stops.push(async () => void (await Promise.all(copies.map(removeCopy))));
    if (!values.trusted && !(await unchanged(guards, copies[0]!))) return;
    const waiting = [...guards];
    await Promise.all(
      copies.map(async (dir) => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await prove(next, dir);
      }),
    );
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stopRuns);
if (values.list === true) for (const { guard, file, test } of chosen) console.log(`${guard}\n    ${file}\n    ${test}`);
else {
  const guards = await uptodate();
  if (guards.length > 0) await proveAll(guards);
  console.log(`${results.passed} passed, ${results.failed} failed`);
  process.exitCode = results.failed === 0 && results.passed > 0 ? 0 : 1;
}
