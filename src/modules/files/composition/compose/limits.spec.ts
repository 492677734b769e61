import { describe, expect, it } from '@jest/globals';
import { LIMITS } from './limits.js';
import { Outgrown } from './run.js';
import { DEEP } from '../../../../../test/support/depth.js';
import { composeCity, configOf, errorsIn, packOf, START, type Files } from './testing/city.js';

function rigs(count: number, text = ''): string {
  return Array.from({ length: count }, (_, n) => `[[rigs]]\nname = "r${n}"\n${text}`).join('');
}

/** Packs of ten agents each: with all of them there is a bit less than half of what may be. */
const LARGE = DEEP ? 900 : 90;
const SKILLS: Files = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`skills/s${n}/SKILL.md`, '']));

/** A few files that ask for more than any city needs, and what is said about them. */
const BOMBS: [what: string, says: string, files: Files, packs: Record<string, Files>][] = [
  ['agents in every rig', 'more than 10000 agents', ...stamped(100, 101)],
  ['rigs', 'more than 2000 rigs', { 'city.toml': START + rigs(LIMITS.rigs + 1) }, {}],
  [
    'implicit agents',
    'more than 10000 agents',
    { 'city.toml': START + rigs(200) + Array.from({ length: 60 }, (_, n) => `[providers.p${n}]\ncommand = "x"\n`).join('') },
    {},
  ],
  [
    'one fragment over and over',
    'is included already',
    { 'city.toml': `include = [${'"f.toml",'.repeat(3)}]\n${START}`, 'f.toml': '[[named_session]]\ntemplate = "a"\n' },
    {},
  ],
  [
    'fragments',
    'more than 100 fragments',
    {
      'city.toml': `include = [${Array.from({ length: 101 }, (_, n) => `"f${n}.toml"`).join()}]\n${START}`,
      ...Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`f${n}.toml`, ''])),
    },
    {},
  ],
  ['a large table that many rigs share', 'more values than', ...shared()],
  ['long keys that many rigs share', 'more characters than', ...shared(60, 'K'.repeat(900))],
  [
    'files of many packs',
    'in all folders together, more files than 40000',
    { 'city.toml': START + Array.from({ length: 41 }, (_, n) => `[imports.p${n}]\nsource = "p${n}"\n`).join('') },
    Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`p${n}`, { ...packOf(`p${n}`, ''), ...SKILLS }])),
  ],
  ['patches of many agents', 'copy more than', ...patched()],
  ['overrides of the orders of many rigs', 'overrides of orders, copy more than', ...overridden(2_000, 100)],
  [
    'webhooks',
    'more than 10000 webhooks',
    {
      'city.toml': `include = ["f0.toml", "f1.toml", "f2.toml", "f3.toml"]\n${START}`,
      ...Object.fromEntries(
        [0, 1, 2, 3].map((n) => [`f${n}.toml`, many(2_501, (i) => `[[webhook]]\nname = "h${n}-${i}"\nrule = [{ order = "a" }]\n`)]),
      ),
    },
    {},
  ],
  [
    'formulas in every rig',
    'more than 20000 formulas',
    { 'city.toml': START + rigs(201, 'imports = { desk = { source = "desk" } }\n') },
    {
      desk: {
        ...packOf('desk', ''),
        ...Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`formulas/f${n}.toml`, `formula = "f${n}"\n`])),
      },
    },
  ],
];

function stamped(agents: number, places: number): [Files, Record<string, Files>] {
  const names = Array.from({ length: agents }, (_, n) => `a${n}`);
  return [{ 'city.toml': `${START}[imports.desk]\nsource = "desk"\n${rigs(places)}` }, { desk: packOf('desk', '', names) }];
}

function env(count: number, name: string): string {
  return `env = { ${Array.from({ length: count }, (_, n) => `${name}${n} = "1"`).join()} }\n`;
}

function shared(count = 5_000, name = 'V'): [Files, Record<string, Files>] {
  const agent = { 'agents/a/agent.toml': `scope = "rig"\n${env(count, name)}`, 'agents/a/prompt.md': 'Do it.' };
  return [{ 'city.toml': `${START}[imports.desk]\nsource = "desk"\n${rigs(300)}` }, { desk: { ...packOf('desk', ''), ...agent } }];
}

/** One order in each rig, and overrides of all of them. */
function overridden(places: number, count: number, scope = 'rig'): [Files, Record<string, Files>] {
  const order = `[order]\nscope = "${scope}"\nexec = "true"\ntrigger = "manual"\n`;
  const overrides = '[[orders.overrides]]\nname = "a"\nrig = "*"\ntimeout = "1m"\n'.repeat(count);
  return [
    { 'city.toml': `${START}${rigs(places, 'imports = { desk = { source = "desk" } }\n')}${overrides}` },
    { desk: { ...packOf('desk', ''), 'orders/a.toml': order } },
  ];
}

function patched(): [Files, Record<string, Files>] {
  const [files, packs] = shared();
  const patches = Array.from({ length: 20 }, () => '[[patches.agent]]\nname = "a"\nenv = { A = "1" }\n').join('');
  return [{ ...files, 'pack.toml': `[pack]\nname = "harbor"\nschema = 2\n${patches}` }, packs];
}

it('a large city is not too much', async () => {
  const agent = `provider = "claude"\nscope = "city"\nargs = ["--fast", "--quiet"]\nmax_active_sessions = 3\n${env(3, 'V')}`;
  const names = Array.from({ length: 10 }, (_, n) => `a${n}`);
  const files = Object.fromEntries(names.map((name) => [`agents/${name}/agent.toml`, agent]));
  const packs = Object.fromEntries(Array.from({ length: LARGE }, (_, n) => [`p${n}`, { ...packOf(`p${n}`, '', names), ...files }]));
  const imports = Object.keys(packs).map((name) => `[imports.${name}]\nsource = "${name}"\n`);
  const patches = Object.keys(packs).map((name) => `[[patches.agent]]\nname = "${name}.a1"\nenv = { A = "1" }\n`);
  const text = `${START}[providers.claude]\nbase = "builtin:claude"\n${imports.join('')}${patches.join('')}`;
  expect((await configOf({ 'city.toml': text }, packs)).agents.length).toBeGreaterThan(LARGE * 10);
});

it('overrides of one order for the city are not too much, however many rigs import it', async () => {
  const { orders, order_files } = await configOf(...overridden(2_000, 100, 'city'));
  expect([(orders as { overrides: object[] }).overrides.length, order_files.length]).toEqual([100, 2_000]);
});

describe('files that ask for too much', () => {
  it.each(BOMBS)('%s', async (_what, says, files, packs) => {
    const errors = await errorsIn(files, packs);
    expect(errors.join('\n')).toContain(says);
    expect(errors.length).toBeLessThanOrEqual(LIMITS.issues);
  });

  it('are not searched for lines without end', async () => {
    const names = Array.from({ length: 10 }, (_, n) => `f${n}.toml`);
    const fragment = (n: number): string => `[[named_session]]\nname = "s${n}"\ntemplate = "nobody"\n#${'x'.repeat(60_000)}\n`;
    const { issues } = await composeCity({
      'city.toml': `include = ${JSON.stringify(names)}\n${START}`,
      ...Object.fromEntries(names.map((name, n) => [name, fragment(n)])),
    });
    const told = issues.filter(({ key }) => key === 'named_session[0].template');
    expect(told).toHaveLength(10);
    expect(told.filter(({ line }) => line !== undefined)).toHaveLength(4);
  });

  it('are told of only so often', async () => {
    const sessions = Array.from({ length: LIMITS.issues * 2 }, () => '[[named_session]]\nname = "a b"\ntemplate = "a"\n').join('');
    expect(await errorsIn({ 'city.toml': START + sessions })).toHaveLength(LIMITS.issues);
  });
});

/** `count` texts, one after the other. */
function many(count: number, text: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => text(n)).join('');
}
const imported = (name: string): string => `[imports.${name}]\nsource = "${name}"\n`;
const ownAgent = (name: string): string => `[[agent]]\nname = "${name}"\nscope = "rig"\n`;

/** Ten packs that import one, which imports 40 with a patch each; all of these import one more, and that one what is below it. */
function layers(patch: (n: number) => string, below: string, packs: Record<string, Files> = {}): [Files, Record<string, Files>] {
  const middles = Array.from({ length: 40 }, (_, n) => `m${n}`);
  return [
    { 'city.toml': START + many(10, (n) => imported(`t${n}`)) },
    {
      ...Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`t${n}`, packOf(`t${n}`, imported('hub'))])),
      hub: packOf('hub', middles.map(imported).join('')),
      ...Object.fromEntries(middles.map((name, n) => [name, packOf(name, patch(n) + imported('bottom'))])),
      bottom: packOf('bottom', below),
      ...packs,
    },
  ];
}

const patchOwn = (n: number): string => `${ownAgent(`own${n}`)}[[patches.agent]]\nname = "own${n}"\ndescription = "x"\n`;
const patchSession = (n: number): string =>
  `[[named_session]]\nname = "s${n}"\ntemplate = "a"\nscope = "rig"\n[[patches.named_session]]\nname = "s${n}"\nmode = "always"\n`;
const leaves = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`leaf${n}`, packOf(`leaf${n}`, '')]));
const described = many(100, (n) => `[[steps]]\nid = "s${n}"\ntitle = "t"\ndescription_file = "../assets/${n}.md"\n`);

/** Little text of which the same is gone over many times, each for one reason. */
const AMPLIFIED: [what: string, files: Files, packs?: Record<string, Files>][] = [
  [
    'agents below many packs that patch one',
    ...layers(
      patchOwn,
      many(150, (n) => ownAgent(`a${n}`)),
    ),
  ],
  ['imports below many packs that patch one', ...layers(patchOwn, Object.keys(leaves).map(imported).join(''), leaves)],
  [
    'sessions below many packs that patch one',
    ...layers(
      patchSession,
      many(120, (n) => `[[named_session]]\nname = "x${n}"\ntemplate = "a"\nscope = "rig"\n`),
    ),
  ],
  [
    'agents of one pack that is imported under many names',
    { 'city.toml': START + many(50, (n) => `[imports.d${n}]\nsource = "desk"\n`) },
    {
      desk: packOf(
        'desk',
        many(200, (n) => ownAgent(`a${n}`)),
      ),
    },
  ],
  [
    'files of formulas that each pack may have',
    {
      'city.toml': START + imported('hub'),
      ...Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`formulas/f${n}.toml`, `formula = "f${n}"\n${described}`])),
    },
    { hub: packOf('hub', Object.keys(leaves).map(imported).join('')), ...leaves },
  ],
  ['overrides of the orders of many rigs', ...overridden(200, 20)],
  [
    'agents that a pack needs in every rig',
    {
      'city.toml': START + rigs(300),
      'agents/a/agent.toml': 'scope = "rig"\n',
      'agents/a/prompt.md': 'Do it.',
      'pack.toml': `[pack]\nname = "harbor"\nschema = 2\n${'[[pack.requires]]\nagent = "a"\nscope = "rig"\n'.repeat(200)}`,
    },
  ],
  [
    'patches of a provider',
    {
      'city.toml': `${START}[providers.p]\ncommand = "x"\n${env(500, 'V')}${'[[patches.providers]]\nname = "p"\nenv = { A = "1" }\n'.repeat(30)}`,
    },
  ],
  [
    'patches of a rig',
    {
      'city.toml': `${START}${rigs(1, env(500, 'V').replace('env', 'formula_vars'))}${'[[patches.rigs]]\nname = "r0"\nformula_vars = { A = "1" }\n'.repeat(30)}`,
    },
  ],
];

// Guard: what is gone over is spent, so that no few characters keep the event loop busy.
describe('files of which little is gone over often', () => {
  it.each(AMPLIFIED)('are composed in a thread: %s', async (_what, files, packs = {}) => {
    await expect(composeCity(files, packs, true)).rejects.toThrow(Outgrown);
  });

  it('have nothing else that is wrong', async () => {
    for (const [what, files, packs] of AMPLIFIED) expect([what, await errorsIn(files, packs)]).toEqual([what, []]);
  });

  it('are none where a table of patches is empty', async () => {
    const [files, packs] = layers(
      () => '[patches]\n',
      many(150, (n) => ownAgent(`a${n}`)),
    );
    expect((await composeCity(files, packs, true)).config).toBeDefined();
  });
});
