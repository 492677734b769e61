import { presetOf, PRESETS } from '../presets/presets.js';
import { presetTable } from '../presets/resolve.js';
import { Leaf, type Table } from '../tree.js';
import type { Agent, Agents } from './agents.js';
import type { Run, Written } from './run.js';

type Options = ReadonlyMap<string, Table>;

/**
 * Tells of options that agents ask for and that their programs do not have. A pack says them for whatever provider the city
 * may choose: of its own, only those are told that no provider has.
 */
export function checkOptionDefaults(run: Run, agents: Agents, workspace: Table, resolved: Table): void {
  const known = new Map<string, Options>();
  const optionsOf = (provider: string): Options => {
    let options = known.get(provider);
    if (options === undefined) known.set(provider, (options = byKey(resolved, provider)));
    return options;
  };
  let anywhere: ReadonlySet<string> | undefined;
  const isKnown = (key: string): boolean =>
    (anywhere ??= new Set([...Object.keys(PRESETS), ...resolved.entries.keys()].flatMap((name) => [...optionsOf(name).keys()]))).has(key);
  // Agents of many rigs share a table.
  const checked = new Map<Table, Set<string>>();
  for (const agent of agents.all) {
    const defaults = agent.table.table('option_defaults');
    if (defaults === undefined || defaults.entries.size === 0) continue;
    const provider = providerOf(agent, workspace);
    if (provider === undefined) {
      if (isOfCity(run, defaults)) run.warn(defaults, 'has no effect: a command of your own has no options');
      continue;
    }
    // One that there is not is told elsewhere.
    if (resolved.get(provider) === undefined && presetOf(provider) === undefined) continue;
    const providers = checked.get(defaults) ?? new Set();
    checked.set(defaults, providers);
    if (providers.has(provider)) continue;
    providers.add(provider);
    for (const [key, value] of defaults.entries)
      if (value instanceof Leaf && (isOfCity(run, value) || !isKnown(key))) checkOption(run, provider, optionsOf(provider), key, value);
  }
}

/** The provider whose program an agent is; undefined for a command of its own. */
function providerOf({ table }: Agent, workspace: Table): string | undefined {
  if ((table.text('start_command') ?? '') !== '') return undefined;
  return table.text('provider') ?? workspace.text('provider');
}

function byKey(resolved: Table, provider: string): Options {
  const spec = resolved.table(provider) ?? (presetOf(provider) === undefined ? undefined : presetTable(provider));
  return new Map((spec?.tables('options_schema') ?? []).map((option) => [option.text('key') ?? '', option]));
}

function checkOption(run: Run, provider: string, options: Options, key: string, value: Leaf): void {
  const option = options.get(key);
  const tell = (message: string, accepted: readonly string[]): void =>
    run.push({ severity: 'warning', file: value.origin.file, key: value.at, message, accepted });
  if (option === undefined) {
    const names = [...options.keys()];
    tell(`has no effect: the provider "${provider}" has no such option${run.suggestions.of(key, names)}`, names);
    return;
  }
  const values = option.tables('choices').flatMap((choice) => choice.text('value') ?? []);
  if (values.includes(String(value.value)) || (value.value === '' && (option.text('default') ?? '') === '')) return;
  tell(
    `has no effect: the provider "${provider}" has no such value`,
    values.filter((each) => each !== ''),
  );
}

const isOfCity = (run: Run, { origin }: Written): boolean => run.sources.get(origin.file)?.tree === run.input.tree;
