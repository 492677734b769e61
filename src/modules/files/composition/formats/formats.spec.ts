import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'smol-toml';
import { z } from 'zod';
import { errorsOf, type Issue } from '../issue.js';
import { plain } from '../tree.js';
import { dotted } from '../toml/path.js';
import { AGENT_FORMAT } from './agent.format.js';
import { CITY_FORMAT, FRAGMENT_FORMAT } from './city.format.js';
import { COMMAND_FORMAT, DOCTOR_FORMAT, FORMULA_FORMAT } from './files.format.js';
import type { Format } from './format.js';
import { LOCK_FORMAT } from './lock.format.js';
import { ORDER_FORMAT } from './order.format.js';
import { PACK_FORMAT } from './pack.format.js';
import { checkDocument } from './read.js';
import { schemaAt } from './shape.js';
import { SITE_FORMAT } from './site.format.js';
import * as large from './testing/samples.js';
import * as small from './testing/small-samples.js';

const OF_WEBHOOKS = [
  ...['scope', 'publication.hostname', 'publication.allow_websockets'],
  ...['secret_key', 'issuer', 'jwks_url', 'audience', 'bearer_env'].map((key) => `verify.${key}`),
].map((key) => `webhook[].${key}`);

const FORMATS: [name: string, format: Format, sample: string, elsewhere: string[]][] = [
  // Keys that no sample may use: they are refused, or are old names.
  [
    'city',
    CITY_FORMAT,
    large.CITY_SAMPLE,
    [
      'agents',
      'formulas',
      'workspace.suspended',
      'rigs[].suspended',
      'patches.rigs[].suspended',
      'daemon.graph_workflows',
      'orders.overrides[].gate',
      'webhooks.jwt_policy',
      ...OF_WEBHOOKS,
    ],
  ],
  ['pack', PACK_FORMAT, large.PACK_SAMPLE, ['agents', 'defaults', 'formulas', 'patches.rigs', 'patches.providers', ...OF_WEBHOOKS]],
  ['agent', AGENT_FORMAT, large.AGENT_SAMPLE, []],
  ['site', SITE_FORMAT, small.SITE_SAMPLE, []],
  ['lock', LOCK_FORMAT, small.LOCK_SAMPLE, []],
  ['order', ORDER_FORMAT, small.ORDER_SAMPLE, ['order.formula', 'order.pool', 'order.gate']],
  ['formula', FORMULA_FORMAT, small.FORMULA_SAMPLE, []],
  ['command', COMMAND_FORMAT, small.COMMAND_SAMPLE, []],
  ['doctor', DOCTOR_FORMAT, small.DOCTOR_SAMPLE, []],
];

type Path = (string | number)[];

function look(text: string, format: Format): { issues: Issue[]; value: any } {
  const issues: Issue[] = [];
  const table = checkDocument(text, 'the.toml', format, issues);
  return { issues, value: table === undefined ? undefined : plain(table) };
}

/** Every key of a format: `rigs[].imports.*.source`. */
function keysOf(schema: z.core.$ZodType, at = ''): string[] {
  const inner = schemaAt(schema, [])!;
  if (inner instanceof z.ZodArray) return keysOf(inner.element, `${at}[]`);
  if (inner instanceof z.ZodRecord) return keysOf(inner.valueType, `${at}.*`);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.core.$ZodType>).flatMap(([key, member]) => {
    const path = at === '' ? key : `${at}.${key}`;
    return [path, ...keysOf(member, path)];
  });
}

/** Every value of a document that is no table, whole lists included. */
function placesOf(value: unknown, at: Path = []): Path[] {
  if (Array.isArray(value)) return [at, ...value.flatMap((item, n) => placesOf(item, [...at, n]))];
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([key, member]) => placesOf(member, [...at, key]));
  return [at];
}

function keysWritten(value: unknown, schema: z.core.$ZodType, at = ''): string[] {
  const inner = schemaAt(schema, [])!;
  if (Array.isArray(value) && inner instanceof z.ZodArray) return value.flatMap((item) => keysWritten(item, inner.element, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const record = inner instanceof z.ZodRecord;
    const path = `${at === '' ? '' : `${at}.`}${record ? '*' : key}`;
    const next = schemaAt(inner, [key]);
    return next === undefined ? [] : [path, ...keysWritten(member, next, path)];
  });
}

interface Wrong {
  readonly path: Path;
  readonly was: unknown;
  /** What stands in the text instead, once. */
  readonly mark: string;
}

/** The sample with values of another type. */
function withWrong(sample: string, places: readonly Path[]): { text: string; wrongs: Wrong[] } {
  const document = parse(sample) as any;
  const wrongs = places.map((path, n): Wrong => {
    const parent = path.slice(0, -1).reduce((at, segment) => at[segment], document);
    const was = parent[path.at(-1)!];
    const mark = 4_711_000 + n;
    parent[path.at(-1)!] = typeof was === 'string' ? mark : `secret-${mark}`;
    return { path, was, mark: `${mark}` };
  });
  return { text: stringify(document), wrongs };
}

/** Places in portions that fit into one file together: none lies inside another, and there are fewer than are told. */
function portions(places: readonly Path[], sample: any): Path[][] {
  const levels = Map.groupBy(places, (path) => (Array.isArray(path.reduce((at, segment) => at[segment], sample)) ? path.length : 0));
  return [...levels.values()].flatMap((level) =>
    Array.from({ length: Math.ceil(level.length / 60) }, (_, n) => level.slice(n * 60, n * 60 + 60)),
  );
}

describe.each(FORMATS)('the format of a %s', (_, format, sample, elsewhere) => {
  it('accepts every key that it has', () => {
    expect(look(sample, format).issues).toEqual([]);
    const keys = keysOf(format.schema).filter(
      (key) => !elsewhere.some((other) => key === other || key.startsWith(`${other}.`) || key.startsWith(`${other}[`)),
    );
    const written = new Set(keysWritten(parse(sample), format.schema));
    expect(keys.filter((key) => !written.has(key))).toEqual([]);
  });

  it('refuses another type for any of them, with its place and without the value', () => {
    const free = ['packs.', 'doctor[', 'commands[', 'steps[', 'vars.'];
    const owned =
      format === CITY_FORMAT ? ['packs.'] : format === PACK_FORMAT ? ['doctor[', 'commands['] : format === FORMULA_FORMAT ? free : [];
    const places = placesOf(parse(sample)).filter((path) => !owned.some((start) => dotted(path).startsWith(start)));
    expect(places.length).toBeGreaterThan(3);
    for (const portion of portions(places, parse(sample))) {
      const { text, wrongs } = withWrong(sample, portion);
      const { issues } = look(text, format);
      for (const { path, was, mark } of wrongs) {
        // A wrong trigger or formula also lacks what depends on it; the value's own issue is the one asked for.
        const found = issues.filter(({ key }) => key === dotted(path));
        expect([dotted(path), found.length]).toEqual([dotted(path), 1]);
        expect(found[0]).toMatchObject({ severity: 'error', file: 'the.toml', message: expect.stringMatching(expected(was, found[0]!)) });
        expect(found[0]!.line).toBe(text.split('\n').findIndex((line) => line.includes(mark)) + 1);
      }
      expect(JSON.stringify(issues)).not.toContain('4711');
    }
  });
});

/** Enumerations name what they accept; everything else names its type. */
function expected(was: unknown, { accepted, key }: Issue): RegExp {
  if (key.endsWith('.network')) return /^must be "all", "api", or a list/;
  if (accepted !== undefined) return /^is not one of the accepted values$/;
  if (Array.isArray(was)) return /^must be a list$/;
  if (typeof was === 'object') return /^must be a table$/;
  return { string: /^must be a text$/, boolean: /^must be true or false$/, number: /^must be a (whole )?number$/ }[typeof was as string]!;
}

describe('what a key accepts', () => {
  const many = (count: number): string => 'x'.repeat(count);
  const rows: [format: Format, text: string, expected: string][] = [
    [
      CITY_FORMAT,
      '[[agent]]\nname = "a"\nwake_mode = "often"',
      'error 3 agent[0].wake_mode: is not one of the accepted values: resume, fresh',
    ],
    [
      CITY_FORMAT,
      '[beads]\nconditional_writes = "on"',
      'error 2 beads.conditional_writes: is not one of the accepted values: off, auto, require',
    ],
    [
      CITY_FORMAT,
      '[mail]\nprovider = "post"',
      'error 2 mail.provider: is not one of the accepted values: fake, fail, beadmail, exec:<script>',
    ],
    [CITY_FORMAT, '[[agent]]\nname = "-a"', 'error 2 agent[0].name: must match ^[a-zA-Z0-9][a-zA-Z0-9_-]*$'],
    [CITY_FORMAT, `[[agent]]\nname = "${many(129)}"`, 'error 2 agent[0].name: must have at most 128 characters'],
    [CITY_FORMAT, '[[agent]]\nname = "a"\nmax_active_sessions = -2', 'error 3 agent[0].max_active_sessions: must be at least -1'],
    [
      CITY_FORMAT,
      '[[agent]]\nname = "a"\nmin_active_sessions = 3\nmax_active_sessions = 2',
      'error 3 agent[0].min_active_sessions: must not be more than max_active_sessions',
    ],
    [CITY_FORMAT, '[[agent]]\nname = "a"\nmin_active_sessions = 3\nmax_active_sessions = -1', ''],
    [CITY_FORMAT, '[[agent]]\nname = "a"\nprompt_mode = "flag"', 'error 1 agent[0].prompt_flag: is required with prompt_mode flag'],
    [CITY_FORMAT, '[[rigs]]\nname = "*"', 'error 2 rigs[0].name: must be 1 to 64 letters, digits, dots, underscores or hyphens'],
    [CITY_FORMAT, '[[rigs]]\nname = ".."', 'error 2 rigs[0].name: must be 1 to 64 letters, digits, dots, underscores or hyphens'],
    [CITY_FORMAT, '[[rigs]]\nprefix = "x"', 'error 1 rigs[0].name: is required'],
    [CITY_FORMAT, '[workspace]\nprefix = "1x"', 'error 2 workspace.prefix: must be a letter and up to 11 letters or digits'],
    [CITY_FORMAT, '[workspace]\ntimezone = "Mars/Base"', 'error 2 workspace.timezone: is not a time zone such as Europe/Vienna'],
    [CITY_FORMAT, '[workspace]\ntimezone = "systemv/ast4"', 'error 2 workspace.timezone: is not a time zone such as Europe/Vienna'],
    [CITY_FORMAT, '[workspace]\nprovider = ""', 'error 2 workspace.provider: must not be empty'],
    [CITY_FORMAT, '[workspace.env]\n"A=B" = "x"', 'error 2 workspace.env."A=B": this name must not be empty or contain ='],
    [CITY_FORMAT, '[providers."a b"]\nbase = "x"', 'error 1 providers."a b": this name must match ^[a-zA-Z0-9][a-zA-Z0-9_-]*$'],
    [
      CITY_FORMAT,
      '[agent_defaults]\nallow_env_override = ["lower"]',
      'error 2 agent_defaults.allow_env_override[0]: must match ^[A-Z][A-Z0-9_]{0,127}$',
    ],
    [CITY_FORMAT, '[api]\nport = 70000', 'error 2 api.port: must be at most 65535'],
    [CITY_FORMAT, '[dolt]\nread_timeout_millis = -1', 'error 2 dolt.read_timeout_millis: must be at least 0'],
    [CITY_FORMAT, '[dolt]\ndolt_lock_release_timeout = "-1s"', 'error 2 dolt.dolt_lock_release_timeout: must not be negative'],
    [
      CITY_FORMAT,
      '[dolt]\ndolt_lock_release_timeout = "x"',
      'warning 2 dolt.dolt_lock_release_timeout: is not a duration such as 90s or 1h30m; the default applies',
    ],
    [
      CITY_FORMAT,
      '[beads.policies.order_tracking]\ndelete_after_close = "0"',
      'error 2 beads.policies.order_tracking.delete_after_close: must be longer than nothing',
    ],
    [
      CITY_FORMAT,
      '[beads.policies.order_tracking]\ndelete_after_close = "1w"',
      'warning 2 beads.policies.order_tracking.delete_after_close: is not a duration such as 12h or 7d; the default applies',
    ],
    [
      CITY_FORMAT,
      '[beads.policies.wisps]\ndelete_after_close = "7d"',
      'error 2 beads.policies.wisps.delete_after_close: beads that are closed are kept; only order_tracking, the history of orders, is deleted after a time',
    ],
    [
      CITY_FORMAT,
      '[beads.policies.wisps]\nstorage = "ephemeral"',
      'error 2 beads.policies.wisps.storage: has no meaning here: all beads are kept in Postgres, without versions, and events tell what they were; leave it out',
    ],
    [
      CITY_FORMAT,
      '[beads.policies.order_tracking]\nstorage = "history"',
      'error 2 beads.policies.order_tracking.storage: cannot be history: no versions of a firing are kept, events tell of it; delete_after_close says how long it is kept',
    ],
    [CITY_FORMAT, '[mail]\nretention_ttl = "0s"', 'error 2 mail.retention_ttl: must be longer than nothing'],
    [
      CITY_FORMAT,
      '[daemon]\npatrol_interval = "30"',
      'warning 2 daemon.patrol_interval: is not a duration such as 90s or 1h30m; the default applies',
    ],
    [
      CITY_FORMAT,
      '[daemon]\npatrol_interval = "-30s"',
      'warning 2 daemon.patrol_interval: is not a duration such as 90s or 1h30m; the default applies',
    ],
    [
      CITY_FORMAT,
      '[session]\nclaim_holder_stall_timeout = "4m"',
      'warning 2 session.claim_holder_stall_timeout: must be at least 5m; the default applies',
    ],
    [CITY_FORMAT, '[events.rotation]\narchive_retain_age = "24h"', 'warning 2 events.rotation.archive_retain_age: is shorter than 168h'],
    [CITY_FORMAT, '[storage.bindings.a]\nprovider = "p"\nauth = "env:1"', 'error 3 storage.bindings.a.auth: must be gasworks or env:NAME'],
    [
      CITY_FORMAT,
      '[[pricing]]\nprovider = "p"\nmodel = "m"\nlast_verified = "yesterday"',
      'error 4 pricing[0].last_verified: must be a day such as 2026-01-15',
    ],
    [CITY_FORMAT, '[formulas]\ndir = "x"', 'error 2 formulas.dir: is not supported; formulas lie in formulas/'],
    [CITY_FORMAT, '[imports.x]\nsource = ""', 'error 2 imports.x.source: must not be empty'],
    [CITY_FORMAT, '[imports.x]\nversion = "1"', 'error 1 imports.x.source: is required'],
    [
      CITY_FORMAT,
      '[[rigs]]\nname = "r"\nimports.x = { source = "x", sorce = "y" }',
      'error 3 rigs[0].imports.x.sorce: is not a known key; did you mean source?',
    ],
    [CITY_FORMAT, '[agents]\nprovider = "x"', 'warning 1 agents: is the old name of agent_defaults'],
    [CITY_FORMAT, '[daemon]\ngraph_workflows = true', 'warning 2 daemon.graph_workflows: is the old name of formula_v2'],
    [CITY_FORMAT, '[[orders.overrides]]\nname = "x"\ngate = "cron"', 'warning 3 orders.overrides[0].gate: is the old name of trigger'],
    [CITY_FORMAT, '[zzzzzzzz]', 'warning 1 zzzzzzzz: is not a known key'],
    [FRAGMENT_FORMAT, 'include = ["x"]', 'error 1 include: a fragment cannot include other files'],
    [FRAGMENT_FORMAT, 'includ = ["x"]', 'warning 1 includ: is not a known key; did you mean include?'],
    [PACK_FORMAT, '[pack]\nname = "p"\nschema = 3', 'error 3 pack.schema: must be at most 2'],
    [PACK_FORMAT, '[imports.x]\nsource = "x"', 'error - pack: is required'],
    [
      PACK_FORMAT,
      '[pack]\nname = "p"\nschema = 2\n[[service]]\nname = "s"\npublish_mode = "direct"',
      'error 6 service[0].publish_mode: is not one of the accepted values: private',
    ],
    [
      PACK_FORMAT,
      '[pack]\nname = "p"\nschema = 2\n[runtimes."a/b"]\ncommand = "x"',
      'error 4 runtimes."a/b": this name must not contain a colon, a slash or blanks',
    ],
    [PACK_FORMAT, '[pack]\nname = "p"\nschema = 2\n[agents]', 'error 4 agents: is not supported in a pack; use agent_defaults'],
    [PACK_FORMAT, '[pack]\nname = "p"\nschema = 2\n[defaults.rig.imports.x]', 'error 4 defaults: belongs in city.toml'],
    [PACK_FORMAT, '[pack]\nname = "p"\nschema = 2\n[[patches.rigs]]\nname = "x"', 'error 4 patches.rigs: belongs in city.toml'],
    [PACK_FORMAT, '[pack]\nname = "p"\nschema = 2\n[[patches.providers]]\nname = "x"', 'error 4 patches.providers: belongs in city.toml'],
    [
      PACK_FORMAT,
      '[pack]\nname = "p"\nschema = 2\n[formulas]\ndir = "x"',
      'error 5 formulas.dir: is not supported; formulas lie in formulas/',
    ],
    [
      AGENT_FORMAT,
      'sleep_after_idle = "never"',
      'warning 1 sleep_after_idle: is neither a duration such as 90s nor off; the default applies',
    ],
    [AGENT_FORMAT, 'provder = "x"', 'warning 1 provder: is not a known key; did you mean provider?'],
    [AGENT_FORMAT, 'prompt_mode = "flag"', 'error - prompt_flag: is required with prompt_mode flag'],
    [SITE_FORMAT, '[[rig]]\nname = "x"', 'error 1 rig[0].path: is required'],
    [LOCK_FORMAT, 'schema = 2', 'error 1 schema: is not one of the accepted values: 1'],
    [LOCK_FORMAT, 'schema = 1\n[packs.x]\ncommit = "HEAD"', 'error 3 packs.x.commit: must be the whole id of a commit'],
    [
      LOCK_FORMAT,
      `schema = 1\n[packs.x]\ncommit = "${'a'.repeat(40)}"\nfetched = "today"`,
      'error 4 packs.x.fetched: must be a time in UTC such as 2026-01-15T10:00:00Z',
    ],
    [FORMULA_FORMAT, 'description = "x"', 'error - formula: is required'],
    [FORMULA_FORMAT, 'formula = "f"\nvars = { a = 1 }', 'error 2 vars.a: must be a text or a table'],
    [
      FORMULA_FORMAT,
      'formula = "f"\nanything = 1\n[requires]\nformula_compilr = "1"',
      'error 4 requires.formula_compilr: is not a known key; did you mean formula_compiler?',
    ],
    [ORDER_FORMAT, '', 'error - order: is required'],
    [ORDER_FORMAT, '[order]\ntrigger = "manual"', 'error 1 order.formula: either formula or exec is required'],
    [ORDER_FORMAT, '[order]\ntrigger = "manual"\nexec = "x"\nformula = "f"', 'error 3 order.exec: formula and exec exclude each other'],
    [ORDER_FORMAT, '[order]\ntrigger = "manual"\nformula = "f"\nenv = { A = "1" }', 'error 4 order.env: is for orders with exec only'],
    [ORDER_FORMAT, '[order]\ntrigger = "manual"\nexec = "x"\npool = "p"', 'error 4 order.pool: is for orders with formula only'],
    [
      ORDER_FORMAT,
      '[order]\ntrigger = "manual"\nexec = "x"\nenv = { SVC_CITY = "1" }',
      'error 4 order.env.SVC_CITY: this name is set by the supervisor, is empty or contains =',
    ],
    [ORDER_FORMAT, '[order]\nexec = "x"', 'error 1 order.trigger: is required'],
    [ORDER_FORMAT, '[order]\nexec = "x"\ngate = "manual"', 'warning 3 order.gate: is the old name of trigger'],
    [ORDER_FORMAT, '[order]\nexec = "x"\ntrigger = "cooldown"', 'error 1 order.interval: is required with trigger cooldown'],
    [ORDER_FORMAT, '[order]\nexec = "x"\ntrigger = "cron"', 'error 1 order.schedule: is required with trigger cron'],
    [ORDER_FORMAT, '[order]\nexec = "x"\ntrigger = "condition"', 'error 1 order.check: is required with trigger condition'],
    [ORDER_FORMAT, '[order]\nexec = "x"\ntrigger = "event"', 'error 1 order.on: is required with trigger event'],
    [ORDER_FORMAT, '[order]\nexec = "x"\ntrigger = "webhook"', 'error 1 order.params: is required with trigger webhook'],
    [
      ORDER_FORMAT,
      '[order]\nexec = "x"\ntrigger = "manual"\ntimeout = "0s"',
      'error 4 order.timeout: must be a positive duration such as 90s or 1h30m',
    ],
    [COMMAND_FORMAT, 'commnd = ["x"]', 'warning 1 commnd: is not a known key; did you mean command?'],
    [DOCTOR_FORMAT, 'warmup = 1', 'error 1 warmup: must be true or false'],
  ];

  it.each(rows)('row %#', (format, text, wanted) => {
    const told = look(text, format).issues.map(
      ({ severity, line, key, message, accepted }) =>
        `${severity} ${line ?? '-'} ${key}: ${message}${accepted === undefined ? '' : `: ${accepted.join(', ')}`}`,
    );
    expect(told).toEqual(wanted === '' ? [] : [wanted]);
  });
});

describe('what is left of a file', () => {
  it('is without what was refused, and whole tables where something required is wrong', () => {
    const text =
      '[[agent]]\nname = "a"\nscope = "x"\nmystery = 1\n[[agent]]\nname = 5\nnudge = "x"\n[imports.x]\n[daemon]\npatrol_interval = "x"\nmax_restarts = 3\n';
    const { value, issues } = look(text, CITY_FORMAT);
    expect(value).toEqual({ agent: [{ name: 'a' }], imports: {}, daemon: { max_restarts: 3 } });
    expect(errorsOf(issues).map(({ key }) => key)).toEqual(['agent[0].scope', 'agent[1].name', 'imports.x.source']);
  });

  it('is nothing where the file lacks what it is about', () => {
    expect(look('nonsense = 1', PACK_FORMAT).value).toBeUndefined();
    expect(look('[order]\nscope = 1', ORDER_FORMAT).value).toEqual({ order: {} });
  });

  it('keeps what is only doubtful, and leaves out what means nothing', () => {
    expect(look('[events.rotation]\narchive_retain_age = "1h"', CITY_FORMAT).value).toEqual({
      events: { rotation: { archive_retain_age: '1h' } },
    });
    expect(look('skills = ["x"]\nmcp = ["y"]\nargs = []', AGENT_FORMAT).value).toEqual({ args: [] });
  });
});
