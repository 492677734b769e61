import fc from 'fast-check';
import { stringify } from 'smol-toml';

/** Documents by path; everything that is no table is a text. */
export type Documents = Readonly<Record<string, object | string>>;

export function render(documents: Documents): Record<string, string> {
  const files = Object.entries(documents).map(([path, document]) => [path, typeof document === 'string' ? document : stringify(document)]);
  return Object.fromEntries(files) as Record<string, string>;
}

const AGENTS = ['ann', 'ben', 'cid'];
const BINDINGS = ['x', 'y', 'z'];
const RIGS = ['mill', 'barn'];
const PACKS = 5;

const word = fc.constantFrom('one', 'two', 'three', 'four', 'five');
const words = fc.array(word, { maxLength: 3 });
const variables = fc.dictionary(fc.constantFrom('A', 'B', 'C'), word, { maxKeys: 3 });
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(keys: T) => fc.record(keys, { requiredKeys: [] });

/** What an agent, or a change of one, may say without referring to anything. */
const AGENT = {
  description: word,
  nudge: word,
  args: words,
  pre_start: words,
  inject_fragments: words,
  env: variables,
  max_active_sessions: fc.integer({ min: -1, max: 9 }),
  wake_mode: fc.constantFrom('resume', 'fresh'),
  suspended: fc.boolean(),
};
const agent = some({ ...AGENT, scope: fc.constantFrom('city', 'rig') });
/** A change of an agent, without its target. */
export const change = some({ ...AGENT, pre_start_append: words, env_remove: fc.subarray(['A', 'B']) });

const provider = some({ display_name: word, env: variables, args: words, args_append: words, ready_delay_ms: fc.nat(1000) });
const tool = provider.map((keys) => ({ base: '', command: 'tool', ...keys }));
const pricing = fc.subarray(['m', 'n']).map((models) => models.map((model) => ({ provider: 'claude', model })));
const formulas = fc.subarray(['ship', 'sail']);

/** Agents in folders of a pack or of the city. */
const folders = fc.dictionary(fc.constantFrom(...AGENTS), fc.tuple(agent, fc.constantFrom('prompt.md', 'prompt.template.md')), {
  maxKeys: 3,
});

function placed(folder: string, agents: Readonly<Record<string, readonly [object, string]>>, names: readonly string[]): Documents {
  const files: Record<string, object | string> = {};
  for (const [name, [table, prompt]] of Object.entries(agents)) {
    files[`${folder}agents/${name}/agent.toml`] = table;
    files[`${folder}agents/${name}/${prompt}`] = 'Work.\n';
  }
  for (const name of names) files[`${folder}formulas/${name}.toml`] = { formula: name };
  return files;
}

/** Bindings to packs of a higher number than `after`, so that they never go round in circles. */
function imports(after: number, up: string) {
  if (after === PACKS) return fc.constant({});
  const source = fc.integer({ min: after + 1, max: PACKS }).map((n) => ({ source: `${up}p${n}` }));
  return fc.dictionary(fc.constantFrom(...BINDINGS), source, { maxKeys: 2 });
}

function pack(n: number): fc.Arbitrary<Documents> {
  return fc
    .tuple(folders, formulas, imports(n, '../'), pricing, fc.option(tool), fc.option(change))
    .map(([agents, names, imported, prices, brought, patch]) => {
      const patched = Object.keys(agents)[0];
      return {
        [`packs/p${n}/pack.toml`]: {
          pack: { name: `pack${n}`, schema: 2 },
          imports: imported,
          pricing: prices,
          ...(brought === null ? {} : { providers: { tool: brought } }),
          ...(patch === null || patched === undefined ? {} : { patches: { agent: [{ name: patched, ...patch }] } }),
        },
        ...placed(`packs/p${n}/`, agents, names),
      };
    });
}

const rigs = fc
  .subarray(RIGS)
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc
          .tuple(some({ default_branch: word, suspended_on_start: fc.boolean(), formula_vars: variables }), imports(2, 'packs/'))
          .map(([keys, imported]) => ({ name, ...keys, imports: imported })),
      ),
    ),
  );

const fragment = some({
  session_sleep: some({ interactive_fresh: fc.constantFrom('1h', '2h'), noninteractive: fc.constant('3h') }),
  providers: provider.map((keys) => ({ claude: keys })),
  mail: fc.constant({ retention_ttl: '1h' }),
  workspace: some({ session_template: word, global_fragments: words }),
});

/** A city with packs, rigs and a fragment in which everything that is referred to exists. */
export const randomCity: fc.Arbitrary<Documents> = fc
  .tuple(
    fc.tuple(...Array.from({ length: PACKS }, (_, n) => pack(n + 1))),
    fc.tuple(folders, formulas, imports(0, 'packs/'), imports(0, 'packs/')),
    fc.tuple(rigs, provider, fc.option(tool), pricing, pricing),
    fc.tuple(fc.option(fragment), some({ default_sling_formula: word, append_fragments: words }), variables),
  )
  .map(([packs, [agents, names, ours, theirs], [rigTables, claude, brought, prices, packPrices], [part, defaults, env]]) => ({
    'city.toml': {
      ...(part === null ? {} : { include: ['part.toml'] }),
      workspace: { provider: 'claude', env },
      providers: { claude: { base: 'builtin:claude', ...claude }, ...(brought === null ? {} : { tool: brought }) },
      imports: ours,
      rigs: rigTables,
      agent_defaults: defaults,
      pricing: prices,
    },
    ...(part === null ? {} : { 'part.toml': part }),
    'pack.toml': { pack: { name: 'root', schema: 2 }, imports: theirs, pricing: packPrices },
    '.gc/site.toml': { rig: rigTables.map(({ name }) => ({ name, path: `checkouts/${name}` })) },
    ...placed('', agents, names),
    ...Object.assign({}, ...packs),
  }));
