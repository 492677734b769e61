import { PRESET_NAMES } from '../presets/presets.js';
import { Leaf, List, type Node, type Table } from '../tree.js';
import type { Agents } from './agents.js';
import { checkDependencies } from './dependencies.js';
import type { Rig } from './rigs.js';
import { resolvePath, type Run } from './run.js';
import { requireProvider } from './workspace.js';

/** Whether a table asks for more sessions than it allows. */
function asksTooMuch(table: Table): boolean {
  const most = table.number('max_active_sessions') ?? -1;
  return most >= 0 && (table.number('min_active_sessions') ?? 0) > most;
}

/** Whether a table wants its prompt behind a flag that it does not name. */
function lacksFlag(table: Table): boolean {
  return table.text('prompt_mode') === 'flag' && (table.text('prompt_flag') ?? '') === '';
}

/** Commands that an agent may have and that nothing runs: who writes one expects that something does. */
const NOT_RUN = ['on_boot', 'on_death', 'work_query', 'sling_query'];

/** Rules of one agent that hold for what patches and defaults made of it. A definition has been checked by itself. */
export function checkAgents(run: Run, agents: Agents, city: Table): void {
  const catalogue = city.table('providers')!;
  const upstreams = city.table('upstreams');
  const upstreamNames = [...(upstreams?.entries.keys() ?? [])];
  const families = new Set([...catalogue.entries.keys(), ...PRESET_NAMES]);
  for (const { table, definition } of agents.all) {
    const [provider, upstream] = [table.get('provider'), table.get('upstream')];
    if (provider !== undefined) requireProvider(run, provider, catalogue);
    if (upstream instanceof Leaf && upstream.value !== '' && upstreams?.get(String(upstream.value)) === undefined)
      run.warn(
        upstream,
        `the city has no upstream "${String(upstream.value)}"${run.suggestions.of(String(upstream.value), upstreamNames)}`,
      );
    checkHooks(run, table, families);
    if (asksTooMuch(table) && !asksTooMuch(definition.written))
      run.error(table.get('min_active_sessions')!, 'is more than max_active_sessions');
    for (const key of NOT_RUN) if ((table.text(key) ?? '') !== '') run.warn(table.get(key)!, 'has no effect: this command is never run');
    if (lacksFlag(table) && !lacksFlag(definition.written)) run.error(table.get('prompt_mode')!, 'needs prompt_flag');
  }
  checkDependencies(run, agents);
}

/** Whose hooks an agent wants: files of an overlay are found by the name of a preset or of a provider. */
function checkHooks(run: Run, table: Table, families: ReadonlySet<string>): void {
  const names = [...families];
  const hooks = table.get('install_agent_hooks');
  for (const hook of hooks instanceof List ? hooks.items : [])
    if (hook instanceof Leaf && hook.value !== '' && !families.has(String(hook.value)))
      run.warn(hook, `there is no provider "${String(hook.value)}"${run.suggestions.of(String(hook.value), names)}`);
}

/** What packs need: an agent in the city, or in the rigs that have the pack. */
export function checkRequirements(
  run: Run,
  agents: Agents,
  places: readonly { readonly table: Table; readonly rigs: readonly string[] }[],
): void {
  for (const { table, rigs } of places)
    for (const needed of table.table('pack')?.tables('requires') ?? []) {
      const name = needed.text('agent')!;
      const dirs = needed.text('scope') === 'rig' ? rigs : [''];
      run.spend('looks', dirs.length);
      const missing = dirs.filter((dir) => !has(agents, name, dir));
      if (missing.length > 0)
        run.error(
          needed.get('agent')!,
          `the pack needs an agent "${name}" in ${missing[0] === '' ? 'the city' : `the rig "${missing[0]}"`}`,
        );
    }
}

function has(agents: Agents, name: string, dir: string): boolean {
  return agents.inPlace(dir, name).length > 0 || agents.resolve(name, dir)?.dir === dir;
}

/** Tells of work that would go nowhere. */
export function checkTargets(run: Run, agents: Agents, rigs: readonly Rig[], city: Table): void {
  const names = [...agents.all].map(({ qualifiedName }) => qualifiedName);
  const check = (node: Node | undefined, rig: string): void => {
    for (const item of node instanceof List ? node.items : node === undefined ? [] : [node])
      if (item instanceof Leaf && item.value !== '' && agents.resolve(String(item.value), rig) === undefined)
        run.warn(item, `there is no agent "${String(item.value)}"${run.suggestions.of(String(item.value), names)}`);
  };
  for (const { name, table } of rigs) {
    check(table.get('default_sling_target'), name);
    check(table.get('default_sling_targets'), name);
  }
  for (const route of city.table('extmsg')?.tables('default_route') ?? []) check(route.get('agent'), '');
}

/** Tables that name a rig. */
export function checkRigNames(run: Run, city: Table, rigs: readonly Rig[]): void {
  const names = rigs.map(({ name }) => name);
  const known = new Set(names);
  for (const table of [...city.tables('webhook'), ...(city.table('github')?.tables('pr_monitor') ?? [])]) {
    const rig = table.get('rig');
    if (rig instanceof Leaf && rig.value !== '' && !known.has(String(rig.value)))
      run.warn(rig, `there is no rig "${String(rig.value)}"${run.suggestions.of(String(rig.value), names)}`);
  }
}

/** The scripts of the city's own checks lie in the city. */
export function checkScripts(run: Run, city: Table): void {
  for (const check of city.table('doctor')?.tables('check') ?? [])
    for (const key of ['script', 'fix']) {
      const script = check.get(key);
      if (script instanceof Leaf && resolvePath(run, { tree: run.input.tree, path: '' }, String(script.value)) === undefined)
        run.error(script, 'is not a path inside the city');
    }
}

/** Each class of the store names a binding that there is. */
export function checkStorage(run: Run, city: Table): void {
  const storage = city.table('storage');
  const bindings = storage?.table('bindings');
  for (const node of storage?.table('classes')?.entries.values() ?? [])
    if (node instanceof Leaf && bindings?.get(String(node.value)) === undefined)
      run.error(node, `there is no storage binding "${String(node.value)}"`, [...(bindings?.entries.keys() ?? [])]);
}
