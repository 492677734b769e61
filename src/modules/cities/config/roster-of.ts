import type { Roster, RosterAgent } from '../../roster/roster.js';
import { prefixOf } from '../../composition/prefix.js';
import type { AgentFacts } from './agents.js';
import type { CityFile, PackFile } from './city-config.js';
import { readToml } from './city-files.js';

/** The rigs and addresses that a city's files name. */
export async function rosterOf(dir: string, city: CityFile, pack: PackFile, agents: readonly AgentFacts[]): Promise<Roster> {
  const site = await readToml(dir, '.gc/site.toml', 'city_config_failed');
  const prefix = city.workspace.prefix ?? (typeof site?.workspace_prefix === 'string' ? site.workspace_prefix : undefined);
  const name = typeof site?.workspace_name === 'string' ? site.workspace_name : (dir.split('/').at(-1) ?? 'city');
  const own = { name: '', prefix: city.workspace.prefix?.toLowerCase(), derivedPrefix: usable(prefix ?? prefixOf(name)) };
  const rigs = city.rigs.map((rig) => ({ name: rig.name, prefix: rig.prefix?.toLowerCase(), derivedPrefix: usable(prefixOf(rig.name)) }));
  return { rigs: [own, ...rigs], agents: addresses(agents, [...city.named_session, ...pack.named_session]) };
}

function addresses(agents: readonly AgentFacts[], sessions: readonly { name?: string | undefined; template: string }[]): RosterAgent[] {
  const found = new Map<string, RosterAgent>(agents.map((agent) => [agent.name, { ...agent, kind: 'agent' }]));
  for (const { name, template } of sessions) {
    const full = name ?? template;
    const at = full.lastIndexOf('/');
    // A named session and the agent that it runs usually share their name; the address is one.
    if (!found.has(full))
      found.set(full, { name: full, base: full.slice(at + 1), rig: at < 0 ? '' : full.slice(0, at), kind: 'named_session' });
  }
  return [...found.values()];
}

/** An id prefix begins with a letter and holds letters and digits only. */
function usable(text: string): string {
  const letters = text
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/^[0-9]+/, '')
    .slice(0, 12);
  return letters === '' ? 'b' : letters;
}
