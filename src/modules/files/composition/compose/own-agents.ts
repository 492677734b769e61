import type { Table } from '../tree.js';
import { folderAgents, inlineAgent, type AgentDefinition } from './agent-definition.js';
import type { Agents } from './agents.js';
import type { Home } from './home.js';
import { qualified } from './names.js';
import type { Run } from './run.js';

/**
 * The agents of the city's own files. Of two of one name that of `city.toml` comes before that of `pack.toml`, and both
 * before a folder; within one of the three a name is used once.
 */
export async function ownAgents(
  run: Run,
  home: Home,
  city: Table,
  pack: Table | undefined,
  schema: number,
  digests: ReadonlyMap<string, string>,
): Promise<AgentDefinition[]> {
  const inCity = city.tables('agent');
  if (schema >= 2) for (const table of inCity) run.error(table, 'agents belong in agents/ or pack.toml when pack.toml has schema 2');
  const groups = [
    inCity.map((table) => inlineAgent(table, home)),
    (pack?.tables('agent') ?? []).map((table) => inlineAgent(table, home)),
    await folderAgents(run, home, digests),
  ];
  const winners = new Map<string, string>();
  return groups.flatMap((group) => {
    const left = group.filter((agent) => {
      const winner = winners.get(placeOf(agent));
      if (winner !== undefined) run.warn(agent.named, `has no effect: ${winner} has an agent of this name`);
      return winner === undefined;
    });
    for (const agent of left) winners.set(placeOf(agent), agent.source);
    return left;
  });
}

function placeOf({ name, table }: AgentDefinition): string {
  return qualified(table.text('dir') ?? '', '', name);
}

/** Puts the city's own agents into their places: where they say, else in every rig for one of scope rig, else in the city. */
export function placeOwn(run: Run, definitions: readonly AgentDefinition[], rigs: readonly string[], agents: Agents): void {
  const known = new Set(rigs);
  for (const agent of definitions) {
    const dir = agent.table.text('dir') ?? '';
    if (dir !== '') {
      if (!known.has(dir)) run.warn(agent.table.get('dir')!, `there is no rig "${dir}"${run.suggestions.of(dir, rigs)}`);
      agents.add(agent, dir, '');
    } else if (agent.table.text('scope') === 'rig') for (const rig of rigs) agents.add(agent, rig, '');
    else agents.add(agent, '', '');
  }
}
