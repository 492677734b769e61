import fc from 'fast-check';
import type { Documents } from './random-city.js';

/** Keys that mean something somewhere, so that wrong values reach what reads them. */
const KEYS = [
  ...[
    'include',
    'workspace',
    'providers',
    'upstreams',
    'imports',
    'defaults',
    'rig',
    'agent',
    'named_session',
    'rigs',
    'service',
    'webhook',
  ],
  ...['pricing', 'patches', 'agent_defaults', 'agents', 'github', 'pr_monitor', 'extmsg', 'default_route', 'storage', 'bindings', 'beads'],
  ...[
    'daemon',
    'orders',
    'overrides',
    'pack',
    'requires',
    'runtimes',
    'global',
    'session_live',
    'formulas',
    'dir',
    'name',
    'provider',
    'base',
  ],
  ...[
    'start_command',
    'source',
    'version',
    'template',
    'scope',
    'prefix',
    'path',
    'schema',
    'command',
    'args',
    'args_append',
    'options_schema',
  ],
  ...[
    'depends_on',
    'mode',
    'env',
    'env_remove',
    'prompt_template',
    'prompt_mode',
    'includes',
    'order',
    'trigger',
    'exec',
    'formula',
    'steps',
  ],
  ...[
    'session_sleep',
    'workspace_name',
    'workspace_prefix',
    '_replace',
    'max_active_sessions',
    'min_active_sessions',
    'ann',
    'x',
    'constructor',
  ],
];
const VALUES = [
  '',
  'ann',
  'x',
  'mill',
  '*',
  '../../..',
  '/etc/passwd',
  '//',
  'packs/p',
  'builtin:claude',
  'provider:x',
  'builtin:core',
  '2',
  'city',
  '\u0000',
];

/** A value that nobody but the owner of the files may see. */
export const SECRET = 'hunter2';
const SECRET_KEYS = [
  'env',
  'api_key',
  'auth_token',
  'url',
  'base_url',
  'args',
  'option_defaults',
  'start_command',
  'write_auth_verify_key',
];
const secret = fc.constantFrom<unknown>(SECRET, [SECRET], { A: SECRET }, { A: [SECRET] }, [{ A: SECRET }]);

const anything = fc.letrec<{ value: unknown; table: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(
      fc.constantFrom(...VALUES),
      fc.integer({ min: -3, max: 3 }),
      fc.boolean(),
      fc.constant(new Date(0)),
      fc.string({ maxLength: 5 }),
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(tie('table'), { maxLength: 3 }),
    tie('table'),
  ),
  table: fc
    .tuple(
      fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 5 }),
      fc.dictionary(fc.constantFrom(...SECRET_KEYS), secret, { maxKeys: 1 }),
    )
    .map(([keys, secrets]) => ({ ...keys, ...secrets })),
})).table;

/** A city that is in order. */
const PLAIN: Documents = {
  'city.toml': {
    include: ['part.toml'],
    workspace: { start_command: 'bin/agent' },
    imports: { x: { source: 'packs/p' } },
    rigs: [{ name: 'mill' }],
  },
  'pack.toml': { pack: { name: 'root', schema: 2 } },
  '.gc/site.toml': { rig: [{ name: 'mill', path: 'mill' }] },
  'part.toml': {},
  'agents/ann/agent.toml': {},
  'agents/ann/prompt.md': 'Work.\n',
  'packs/p/pack.toml': { pack: { name: 'p', schema: 2 } },
  'packs/p/agents/ann/agent.toml': {},
  'packs/p/agents/ann/prompt.md': 'Work.\n',
  'orders/o.toml': { order: { exec: 'true', trigger: 'manual' } },
  'formulas/f.toml': { formula: 'f' },
};
const TABLES = Object.keys(PLAIN).filter((path) => path.endsWith('.toml'));

/** That city with known keys of any value in one or two of its files, beside what is there or instead of it. */
export const randomDocuments: fc.Arbitrary<Documents> = fc
  .array(fc.tuple(fc.constantFrom(...TABLES), anything, fc.boolean()), { minLength: 1, maxLength: 2 })
  .map((changes) => ({
    ...PLAIN,
    ...Object.fromEntries(changes.map(([path, keys, instead]) => [path, instead ? keys : { ...keys, ...(PLAIN[path] as object) }])),
  }));
