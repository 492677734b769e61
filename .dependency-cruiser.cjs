/**
 * Who may import whom. A room's line names everything of ours that it may import; CONTRIBUTING.md has the table in
 * words. Spec files may reach further: they build their room's surroundings.
 */
const SPEC = '\\.(spec|db-spec|deep-spec)\\.ts$|/testing/';
const base = ['config', 'logging', 'time', 'health', 'failpoints', 'collections', 'telemetry'];

/** Rooms of src/platform and what each may import beside src/contract and itself. */
const rooms = {
  config: [],
  time: [],
  failpoints: [],
  collections: [],
  turns: ['collections'],
  logging: ['config', 'time'],
  health: ['config', 'logging', 'time'],
  telemetry: ['config', 'logging'],
  audit: [],
  database: [...base, 'audit', 'turns'],
  'audit-log': [...base, 'audit', 'database'],
  'event-log': [...base, 'database', 'turns'],
  disk: [...base],
  idempotency: [...base, 'database'],
  queue: [...base, 'database'],
  operations: [...base, 'audit', 'database', 'event-log', 'queue', 'idempotency', 'turns', 'processes'],
  streams: [...base, 'database', 'event-log', 'http', 'turns'],
  processes: [...base, 'database', 'event-log'],
  threads: [...base, 'turns'],
  http: [...base, 'audit', 'turns'],
  openapi: [...base, 'http'],
  page: ['http'],
  embedded: ['time', 'logging'],
  outgoing: ['collections', 'config', 'turns'],
  git: ['config', 'logging', 'outgoing', 'isolation', 'runtime', 'time'],
  runtime: ['config', 'logging', 'time'],
  isolation: ['config', 'logging', 'runtime', 'health', 'outgoing', 'time'],
};

/**
 * The domains of src/modules: what each may import beside itself, and its families in the order in which they build on each
 * other. A family imports those before it in its line; so neither domains nor families make a circle.
 */
const domains = {
  files: { may: [], families: ['composition', 'directories'] },
  hosts: { may: ['files'], families: ['runner-list', 'providers'] },
  tenancy: { may: ['files', 'hosts'], families: ['cities', 'events'] },
  configuration: { may: ['files', 'hosts', 'tenancy'], families: ['roster', 'config', 'packs', 'patches', 'city-providers'] },
  work: {
    may: ['tenancy', 'configuration'],
    families: ['work', 'convoys', 'dependencies', 'beads', 'hooks', 'mail', 'waits'],
  },
  sessions: {
    may: ['files', 'hosts', 'tenancy', 'configuration', 'work'],
    families: [
      'session-store',
      'agents',
      'launch',
      'session-tokens',
      'session-names',
      'messages',
      'sessions',
      'interactions',
      'transcripts',
      'usage',
      'rigs',
    ],
  },
  runners: { may: ['files', 'hosts', 'tenancy', 'configuration', 'work', 'sessions'], families: ['pools', 'runners'] },
  orchestration: {
    may: ['files', 'tenancy', 'configuration', 'work', 'sessions'],
    families: ['formulas', 'runs', 'sling', 'orders'],
  },
  integrations: { may: ['files', 'tenancy', 'configuration', 'sessions'], families: ['extmsg', 'services'] },
  administration: {
    may: ['files', 'tenancy', 'configuration', 'work', 'sessions', 'runners', 'orchestration', 'integrations'],
    families: ['system', 'audit', 'keys', 'bring-up', 'city-status', 'overview', 'inbox', 'search', 'maintenance'],
  },
};
const families = Object.entries(domains).flatMap(([domain, { may, families: line }]) =>
  line.map((family, nth) => ({ domain, family, may, before: line.slice(0, nth + 1) })),
);

const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: SPEC },
  to: { path: '^(src|test|scripts|db|bench)/', pathNot: allowed },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle means that a boundary is in the wrong place.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'Every import is found, and every package is declared.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^db/|[?]sharedworker' },
    },
    only('contract-stands-alone', '^src/contract/', '^src/contract/', 'The contract imports zod and itself.'),
    ...Object.entries(rooms).map(([room, may]) =>
      only(
        `platform-${room}`,
        `^src/platform/${room}/`,
        `^src/(contract/|platform/(${[room, ...may].join('|')})/)`,
        `src/platform/${room} may import: contract${may.map((r) => `, ${r}`).join('')}.`,
      ),
    ),
    {
      name: 'platform-rooms-are-listed',
      comment: 'A new room of src/platform states here what it may import.',
      severity: 'error',
      from: { path: '^src/platform/', pathNot: `^src/platform/(${Object.keys(rooms).join('|')})/` },
      to: {},
    },
    only('modules', '^src/modules/', '^src/(contract|platform|modules)/', 'Families know neither entries nor the client.'),
    ...families.map(({ domain, family, may, before }) =>
      only(
        `${domain}-${family}`,
        `^src/modules/${domain}/${family}/`,
        `^src/(contract|platform)/|^src/modules/(${domain}/(${before.join('|')})${may.length === 0 ? '' : `|${may.join('|')}`})/`,
        `${domain}/${family} may import: ${[...before, ...may].join(', ')}.`,
      ),
    ),
    {
      name: 'families-are-listed',
      comment: 'A new family has its place among those of its domain.',
      severity: 'error',
      from: {
        path: '^src/modules/[^/]+/',
        pathNot: `^src/modules/(${families.map(({ domain, family }) => `${domain}/${family}`).join('|')})/`,
      },
      to: {},
    },
    {
      name: 'families-meet-at-services',
      comment: "Another family's repository, mapper, controller and reconciler are its own business.",
      severity: 'error',
      from: { path: '^src/modules/([^/]+/[^/]+)/', pathNot: SPEC },
      to: { path: '^src/modules/[^/]+/[^/]+/.*\\.(repository|mapper|controller|reconciler)\\.ts$', pathNot: '^src/modules/$1/' },
    },
    {
      name: 'api-does-no-background-work',
      comment: 'What works in the background belongs to the worker root.',
      severity: 'error',
      from: { path: '^src/modules/api\\.module\\.ts$' },
      to: { path: '\\.(worker\\.module|reconciler)\\.ts$', reachable: true },
    },
    only('client', '^src/client/', '^src/client/', 'The library for programs knows the service by its document alone.'),
    {
      name: 'client-runs-in-browsers',
      comment: 'What browsers load of the library needs nothing of Node; its node.ts alone does.',
      severity: 'error',
      from: { path: '^src/client/', pathNot: `^src/client/node\\.ts$|${SPEC}` },
      to: { dependencyTypes: ['core'] },
    },
    only(
      'cli',
      '^src/cli/',
      '^src/(contract|client|cli)/|^src/entry/serve\\.ts$|^src/platform/embedded/server-file\\.ts$|^src/modules/(orchestration/formulas/compile/describe|files/composition/issue)\\.ts$',
      'The client knows the contract and speaks HTTP through the library; `svc serve` runs the entry; where the server of a directory is says its file; formulas are checked here as there.',
    ),
    {
      name: 'formulas-compile-alone',
      comment: 'Compiling is a function of plain data: it knows no table, no Nest and no family but composition.',
      severity: 'error',
      from: { path: '^src/modules/orchestration/formulas/compile/', pathNot: SPEC },
      to: {
        path: '^src/(platform|modules)/|node_modules/@nestjs',
        pathNot: '^src/modules/(orchestration/formulas/compile|files/composition)/',
      },
    },
    {
      name: 'programs-start-behind-walls',
      comment:
        'What cities name is started by platform/runtime, behind its walls; beside it only our own parts start programs, which they name themselves.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/(platform/(runtime|isolation|embedded|git)|entry|cli|loopback|modules/hosts/providers/probes)/|${SPEC}`,
      },
      to: { path: '^(node:)?child_process$|node_modules/(execa|@lydell/node-pty|koffi)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'e2e-from-outside',
      comment: 'End-to-end tests see what a client sees; test/support alone builds applications.',
      severity: 'error',
      from: { path: '^test/e2e/' },
      to: { path: '^src/', pathNot: '^src/(contract|client)/' },
    },
    {
      name: 'page-speaks-http',
      comment: "The operator's page knows the API by its generated types alone; what an event says in a line is one rule for it and `svc`.",
      severity: 'error',
      from: { path: '^ui/' },
      to: { path: '^(src|db|test|scripts|bench)/', pathNot: '^src/client/gist\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'page-apart',
      comment: 'Nothing of the service imports the page.',
      severity: 'error',
      from: { path: '^(src|db)/' },
      to: { path: '^ui/' },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: SPEC },
      to: { path: `^(test|scripts|bench)/|${SPEC}` },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.gen\\.ts$' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs'],
    },
  },
};
