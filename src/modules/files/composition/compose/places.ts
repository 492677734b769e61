import type { Agents } from './agents.js';
import type { Collected, Collector } from './collect.js';
import type { Import } from './pack-graph.js';
import type { Run } from './run.js';
import type { Rig } from './rigs.js';
import type { Sessions } from './sessions.js';

/** Imports that a rig has itself, by what tells that it lacks one of the city's. */
function keyOf({ binding, pack }: Import): string {
  return binding === '' ? `/${pack.id}` : binding;
}

/**
 * Puts what packs bring into its places. Agents without a scope work in the city and in every rig, those of one scope in
 * the city or in every rig; a rig's own import takes the place of the city's import of the same binding. Sessions without
 * a scope belong to whoever imports them.
 */
export function placeImports(
  collector: Collector,
  city: readonly Import[],
  rigs: readonly Rig[],
  agents: Agents,
  sessions: Sessions,
): void {
  for (const each of city) {
    const { agents: found, sessions: named } = collector.of(each);
    for (const agent of found) if (agent.table.text('scope') !== 'rig') agents.add(agent, '', each.binding);
    for (const session of named) if (session.table.text('scope') !== 'rig') sessions.addOfPack(session, '', each.binding);
  }
  for (const { name, imports } of rigs) {
    const own = new Set(imports.map(keyOf));
    for (const each of city) if (!own.has(keyOf(each))) stamp(collector.of(each), name, each.binding, false);
    if (agents.isFull) return;
  }
  for (const { name, imports } of rigs)
    for (const each of imports) {
      const collected = collector.of(each);
      for (const agent of collected.agents) if (agent.table.text('scope') === 'city') agents.add(agent, '', each.binding);
      for (const session of collected.sessions) if (session.table.text('scope') === 'city') sessions.addOfPack(session, '', each.binding);
      stamp(collected, name, each.binding, true);
    }

  function stamp({ agents: found, sessions: named }: Collected, rig: string, binding: string, isOwn: boolean): void {
    for (const agent of found) if (agent.table.text('scope') !== 'city') agents.add(agent, rig, binding);
    for (const session of named) {
      const scope = session.table.text('scope');
      if (scope === 'rig' || (scope === undefined && isOwn)) sessions.addOfPack(session, rig, binding);
    }
  }
}

/** Tells where an agent of the city's own has the bare name of one that an import brings to the same place. */
export function warnOfShadows(run: Run, agents: Agents, silent: ReadonlySet<string>): void {
  for (const agent of agents.all) {
    if (agent.binding !== '' || agent.definition.pack !== '') continue;
    for (const { binding, qualifiedName } of agents.inPlace(agent.dir, agent.name))
      if (binding !== '' && !silent.has(binding))
        run.warn(
          agent.definition.named,
          `the bare name "${agent.name}" means this agent and no longer "${qualifiedName}": call it otherwise, or where that is meant set shadow = "silent" of the import "${binding}"`,
        );
  }
}
