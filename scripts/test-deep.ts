import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * What the suite leaves out because it takes long. Each part is a command that ends with 0 when all is well. `.ci/run` runs
 * one, on the processors that the suite has as well: a part takes a minute or two of a processor, or is divided.
 */
const JEST = ['jest', '--passWithNoTests=false'];

interface Part {
  readonly name: string;
  readonly what: string;
  readonly run: readonly string[];
}

const times = (n: number, part: (nth: number) => Part): Part[] => Array.from({ length: n }, (_, i) => part(i + 1));

const SHARES = 60;
/** `npm test` runs the tests with all guards in place. */
const guards = times(SHARES, (share) => ({
  name: `guards-${share}`,
  what: 'a sixtieth of the guards, taken out one by one',
  run: ['npm', 'run', '-s', 'test:guards', '--', '--trusted', '--share', `${share}/${SHARES}`],
}));

const chaos = (name: string, what: string, kind: string, seed: number): Part => ({
  name,
  what,
  run: ['npm', 'run', '-s', 'chaos', '--', '--only', kind, '--seed', `${seed}`, '--seconds', '6'],
});

const deep = (name: string, what: string, ...patterns: string[]): Part => ({
  name,
  what,
  run: [...JEST, '--selectProjects', 'deep', '--testPathPatterns', ...patterns],
});

const WIDE: readonly Part[] = [
  {
    name: 'queues',
    what: 'operations on both queue backends, and the queues',
    run: [...JEST, '--selectProjects', 'db', 'e2e', '--testPathPatterns', 'operations', 'queue'],
  },
  {
    name: 'kills',
    what: 'clones of rigs, launches and fan-outs, and servers killed at every place, accounts of an embedded server',
    run: [...JEST, '--selectProjects', 'db', 'e2e', '--testPathPatterns', 'rig-clones', 'run-kills', 'embedded\\.e2e', 'audit\\.e2e'],
  },
  {
    name: 'fuzz',
    what: 'fuzz, attacks and events of each kind with many more runs',
    run: [...JEST, '--testPathPatterns', 'fuzz', 'attacks', 'contract\\.e2e'],
  },
  {
    name: 'models',
    what: 'models and properties of the database with many more runs, and a year of an order',
    run: [...JEST, '--selectProjects', 'db', '--testPathPatterns', 'model', 'property', 'sling-rehearsal', 'fan-outs', 'firing'],
  },
  {
    name: 'checkers',
    what: 'models and properties without one, and the checkers of chaos, with many more runs',
    run: [...JEST, '--selectProjects', 'unit', 'checkers', '--testPathPatterns', 'model', 'property', 'checker'],
  },
  {
    name: 'limits',
    what: 'the largest city, every spelling of a host and every city with the token of a session on every operation',
    run: [...JEST, '--testPathPatterns', 'front-door\\.e2e', 'limits', 'session-tokens'],
  },
  {
    name: 'races',
    what: 'many editors, runners, hooks and readers at once, all kinds of writes together, lists of events against a model',
    run: [
      ...JEST,
      '--selectProjects',
      'db',
      'e2e',
      '--testPathPatterns',
      'config-edits',
      'runners/claims',
      'hooks\\.e2e',
      'streams\\.e2e',
      'event-lists',
      'message-races',
      'storm\\.e2e',
    ],
  },
  {
    name: 'page',
    what: 'what is done on the page, its lists under many more faults and a server that is killed',
    run: [...JEST, '--selectProjects', 'e2e', 'deep', '--testPathPatterns', 'e2e/ui(-(?!views)\\w+)?\\.'],
  },
  {
    name: 'page-views',
    what: 'every view of the page in each theme and width',
    run: [...JEST, '--selectProjects', 'e2e', '--testPathPatterns', 'e2e/ui-views'],
  },
  deep('agents', 'agents of others, from npm', 'conformance'),
  deep('clients', 'clients that generators of others make of the document', 'generated-clients'),
  deep('helm', 'the Helm chart, rendered by helm and held against the schemas of Kubernetes; from npm', 'helm-chart'),
  deep('lists', 'lists and logs with the longest rows', 'long-'),
  deep('cities', 'three hundred real cities', 'many-cities'),
  deep('failover', 'a primary of PostgreSQL killed under load, and its standby promoted', 'failover'),
  deep(
    'patroni',
    'PostgreSQL under Patroni and etcd, its leader killed, frozen and switched over under load; needs packages',
    'e2e/patroni',
  ),
  deep('previous', 'the previous release under load, beside the migrated database, then replaced', 'previous-release'),
  deep('pgbouncer', 'the service behind PgBouncer, by transactions; needs a package of it', 'pgbouncer'),
  deep('memory', 'the memory of a server under attack', 'memory'),
  {
    name: 'scenario-day',
    what: 'a working day of a user',
    run: [...JEST, '--selectProjects', 'scenarios', '--testPathPatterns', 'working-day'],
  },
  { name: 'scenario-night', what: 'a night with crashes', run: [...JEST, '--selectProjects', 'scenarios', '--testPathPatterns', 'night'] },
  {
    name: 'scenario-backup',
    what: 'backups restored as the guide says it; for a database of one’s own it needs a package of PostgreSQL',
    run: [...JEST, '--selectProjects', 'scenarios', '--testPathPatterns', 'scenarios/backup'],
  },
  {
    name: 'guard-types',
    what: 'whether what each guard becomes can be compiled',
    run: ['npm', 'run', '-s', 'test:guards', '--', '--types'],
  },
  { name: 'cluster', what: 'the Compose cluster, parts of it killed; needs Docker', run: ['npm', 'run', '-s', 'test:cluster'] },
];

const CHAOS: readonly Part[] = [
  ...times(10, (n) => chaos(`chaos-${n}`, 'a seed of the chaos run', 'log', n)),
  ...times(5, (n) => chaos(`chaos-sessions-${n}`, 'a seed of the chaos run with sessions', 'sessions', 2 * n - 1)),
  ...times(3, (n) => chaos(`chaos-orders-${n}`, 'a seed of the chaos run with orders', 'orders', n)),
  ...times(3, (n) => chaos(`chaos-messages-${n}`, 'a seed of the chaos run with messages from outside', 'messages', n)),
];

/** A part an hour: every other one of the guards, between them one of what is wide and one of chaos in turn. All of it has run within five days. */
const TURN_MS = 3_600_000;
const PARTS = [...WIDE, ...CHAOS, ...guards];

const HELP = `npm run test:deep -- [options]
  --part NAME   only this one; may be given more than once
  --today       the part whose hour it is
  --list        the parts
${PARTS.map(({ name, what }) => `    ${name.padEnd(16)} ${what}`).join('\n')}`;

const { values } = parseArgs({
  options: {
    part: { type: 'string', multiple: true },
    today: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function today(): readonly Part[] {
  const turn = Math.floor(Date.now() / TURN_MS);
  const [wheel, nth] = turn % 2 === 1 ? [guards, turn / 2] : [turn % 4 === 0 ? WIDE : CHAOS, turn / 4];
  return [wheel[Math.floor(nth) % wheel.length]!];
}

function chosen(): readonly Part[] {
  if (values.today) return today();
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
