import { Table } from '../tree.js';
import type { Agent, Agents } from './agents.js';
import { bareName } from './collect.js';
import { mergeProvider } from './merge-provider.js';
import { qualified } from './names.js';
import { listFrom, overlaid } from './nodes.js';
import { costOf, patchAgent } from './patch-agent.js';
import type { Rig } from './rigs.js';
import type { Run } from './run.js';
import type { Sessions } from './sessions.js';

/** Patches that found no agent yet: they may be meant for one that a provider brings. */
export type Deferred = readonly Table[];

/**
 * Applies patches of agents. Those of the city name an agent and its place; those of the root pack may use the bare name
 * and then mean every agent of it. Answers those without a target.
 */
export function patchAgents(run: Run, agents: Agents, patches: readonly Table[], rootPack: string): Deferred {
  return patches.filter((patch) => {
    const targets = targetsOf(agents, patch, patch.origin.file === rootPack);
    for (const agent of targets) change(run, agent, patch);
    return targets.length === 0;
  });
}

function change(run: Run, agent: Agent, patch: Table): void {
  run.spend('copies', costOf(agent.table, patch));
  agent.table = patchAgent(agent.table, patch);
}

function targetsOf(agents: Agents, patch: Table, everywhere: boolean): readonly Agent[] {
  const [dir, name] = [patch.text('dir') ?? '', patch.text('name')!];
  const exact = agents.get(qualified(dir, '', name));
  if (everywhere && dir === '') return agents.named(name).length > 0 ? agents.named(name) : exact === undefined ? [] : [exact];
  if (exact !== undefined) return [exact];
  const alike = agents.inPlace(dir, name);
  return alike.length === 1 ? alike : [];
}

/** Tells of patches without a target; `agents` are all there are. */
export function refuse(run: Run, agents: Agents, patches: Deferred): void {
  for (const patch of patches) {
    const name = patch.text('name')!;
    const alike = agents.named(bareName(name)).map((agent) => agent.qualifiedName);
    const full = qualified(patch.text('dir') ?? '', '', name);
    run.error(patch.get('name')!, `there is no agent "${full}"`, alike.length === 0 ? undefined : alike.slice(0, 10));
  }
}

/** The changes that rigs make to their agents: all `overrides`, then all `patches`. */
export function patchRigAgents(run: Run, agents: Agents, rigs: readonly Rig[]): void {
  for (const key of ['overrides', 'patches'])
    for (const rig of rigs)
      for (const patch of rig.table.tables(key)) {
        const name = patch.text('agent')!;
        const agent = agents.inPlace(rig.name, name)[0] ?? agents.get(qualified(rig.name, '', name));
        if (agent === undefined) run.error(patch.get('agent')!, `there is no agent "${name}" in the rig`);
        else change(run, agent, patch);
      }
}

export function patchSessions(run: Run, sessions: Sessions, patches: readonly Table[]): void {
  const byName = Map.groupBy(sessions.all, ({ qualifiedName }) => qualifiedName);
  const byTemplate = Map.groupBy(sessions.all, ({ dir, template }) => qualified(dir, '', template));
  const anywhere = Map.groupBy(sessions.all, ({ template }) => template);
  for (const patch of patches) {
    const [dir, name, template] = [patch.text('dir') ?? '', patch.text('name'), patch.text('template') ?? ''];
    const found =
      (name !== undefined
        ? byName.get(qualified(dir, '', name))
        : dir === ''
          ? anywhere.get(template)
          : byTemplate.get(qualified(dir, '', template))) ?? [];
    const [session] = found;
    const mode = patch.get('mode');
    const where = patch.get('name') ?? patch.get('template') ?? patch;
    if (session === undefined) run.error(where, 'there is no such named session');
    else if (found.length > 1)
      run.error(
        where,
        'there is more than one such named session; name it',
        found.slice(0, 10).map((each) => each.qualifiedName),
      );
    else if (mode !== undefined) session.table = session.table.with(['mode', mode]);
  }
}

export function patchRigs(run: Run, rigs: readonly Rig[], patches: readonly Table[]): void {
  const byName = new Map(rigs.map((rig) => [rig.name, rig]));
  for (const patch of patches) {
    const rig = byName.get(patch.text('name')!);
    if (rig === undefined) run.error(patch.get('name')!, `there is no rig "${patch.text('name')}"`);
    else {
      run.spend('copies', costOf(rig.table, patch));
      rig.table = rig.table.with(...patch.without('name', 'formula_vars').entries, [
        'formula_vars',
        overlaid(rig.table.get('formula_vars'), patch.get('formula_vars')),
      ]);
    }
  }
}

/** The catalogue with its patches. */
export function patchProviders(run: Run, catalogue: Table, patches: readonly Table[]): Table {
  const entries = new Map(catalogue.entries);
  for (const patch of patches) {
    const name = patch.text('name')!;
    const base = entries.get(name);
    if (!(base instanceof Table)) {
      run.error(patch.get('name')!, `there is no provider "${name}" in the city; add [providers.${name}]`);
      continue;
    }
    run.spend('copies', costOf(base, patch));
    const from = patch.flag('_replace') === true ? new Table(new Map(), patch.origin, patch.at) : base;
    const merged = mergeProvider(from, patch.without('name', '_replace', 'env_remove'));
    const [env, removed] = [merged.get('env'), patch.texts('env_remove') ?? []];
    entries.set(name, env instanceof Table && removed.length > 0 ? merged.with(['env', env.without(...removed)]) : merged);
  }
  return new Table(entries, catalogue.origin, catalogue.at);
}

/** Pull request monitors with their patches; `*_append` adds to lists. */
export function patchMonitors(run: Run, github: Table | undefined, patches: readonly Table[]): Table | undefined {
  const monitors = new Map((github?.tables('pr_monitor') ?? []).map((monitor) => [monitor.text('name')!, monitor]));
  for (const patch of patches) {
    const name = patch.text('name')!;
    const monitor = monitors.get(name);
    if (monitor === undefined) run.error(patch.get('name')!, `there is no monitor "${name}"`);
    else {
      run.spend('copies', costOf(monitor, patch));
      monitors.set(name, patchAgent(monitor, patch));
    }
  }
  return patches.length === 0 ? github : github?.with(['pr_monitor', listFrom([...monitors.values()])]);
}
