import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * What `npm test` leaves out because it takes long. Each part is a command that ends with 0 when all is well. `.ci/run` runs
 * one part a day; a part that would take longer than two minutes there is divided.
 */
const JEST = ['jest', '--passWithNoTests=false'];
const SHARES = 8;
const guards = (share: number): Part => ({
  name: `guards-${share}`,
  what: 'an eighth of the guards, taken out one by one',
  run: ['npm', 'run', '-s', 'test:guards', '--', '--share', `${share}/${SHARES}`],
});

/** A seed takes half a minute and more. */
const CHAOS_PARTS = 5;
const chaos = (part: number): Part => ({
  name: `chaos-${part}`,
  what: 'two of ten seeds of the chaos run',
  run: ['npm', 'run', '-s', 'chaos', '--', '--seed', `${part * 2 - 1}`, '--seeds', '2', '--seconds', '6'],
});

interface Part {
  readonly name: string;
  readonly what: string;
  readonly run: readonly string[];
}

const PARTS: readonly Part[] = [
  {
    name: 'queues',
    what: 'operations on both queue backends, clones of rigs killed at every place, accounts of an embedded server',
    run: [...JEST, '--selectProjects', 'db', 'e2e', '--testPathPatterns', 'operations', 'queue', 'rig-clones', 'embedded'],
  },
  {
    name: 'models',
    what: 'fuzz, models, properties and attacks with many more runs, the largest city, every spelling of a host on every operation',
    run: [...JEST, '--testPathPatterns', 'fuzz', 'model', 'property', 'checker', 'front-door', 'limits', 'attacks'],
  },
  {
    name: 'agents',
    what: 'agents of others, from npm, three hundred real cities',
    run: [...JEST, '--selectProjects', 'deep'],
  },
  {
    name: 'scenarios',
    what: 'days of users, and a night with crashes',
    run: [...JEST, '--selectProjects', 'scenarios'],
  },
  ...Array.from({ length: CHAOS_PARTS }, (_, n) => chaos(n + 1)),
  ...Array.from({ length: SHARES }, (_, n) => guards(n + 1)),
  { name: 'cluster', what: 'the Compose cluster, parts of it killed; needs Docker', run: ['npm', 'run', '-s', 'test:cluster'] },
];

const HELP = `npm run test:deep -- [options]
  --part NAME   only this one; may be given more than once
  --today       the part whose day it is
  --list        the parts
${PARTS.map(({ name, what }) => `    ${name.padEnd(10)} ${what}`).join('\n')}`;

const { values } = parseArgs({
  options: {
    part: { type: 'string', multiple: true },
    today: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** Each day another. */
function today(): Part {
  return PARTS[Math.floor(Date.now() / 86_400_000) % PARTS.length]!;
}

function chosen(): readonly Part[] {
  if (values.today) return [today()];
  if (values.part === undefined) return PARTS;
  return values.part.map((name) => {
    const part = PARTS.find((one) => one.name === name);
    if (part === undefined) throw new Error(`no such part: ${name}; there are ${PARTS.map((one) => one.name).join(', ')}`);
    return part;
  });
}

function run([program, ...args]: readonly string[]): Promise<number> {
  const child = spawn(program!, args, { stdio: 'inherit', env: { ...process.env, SVC_TEST_DEEP: '1' } });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

async function main(): Promise<number> {
  if (values.help) console.log(HELP);
  if (values.list)
    console.log(
      chosen()
        .map(({ name }) => name)
        .join('\n'),
    );
  if (values.help || values.list) return 0;
  let failed = 0;
  for (const part of chosen()) {
    const began = Date.now();
    console.log(`== ${part.name}: ${part.what}`);
    const code = await run(part.run);
    if (code !== 0) failed++;
    console.log(`   ${code === 0 ? 'passed' : 'FAILED'} in ${Math.round((Date.now() - began) / 1000)} s`);
  }
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
