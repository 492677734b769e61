import type { CityConfig } from '../../files/composition/city-config.js';
import type { Roster, RosterAgent } from '../roster/roster.js';
import { prefixOf } from '../../files/composition/prefix.js';

/** The rigs and addresses that a composed configuration names. */
export function rosterOf(config: CityConfig): Roster {
  const { workspace } = config;
  const own = { name: '', prefix: workspace.declared_prefix?.toLowerCase(), derivedPrefix: workspace.prefix, suspendedOnStart: false };
  const rigs = config.rigs.map((rig) => ({
    name: rig.name,
    prefix: rig.prefix,
    derivedPrefix: prefixOf(rig.name),
    suspendedOnStart: rig.suspended_on_start,
  }));
  const named = new Set(config.named_sessions.map((session) => session.qualified_name));
  const agents: RosterAgent[] = config.agents.map((agent) => ({
    name: agent.qualified_name,
    base: agent.name,
    rig: agent.dir,
    kind: 'agent',
    named: named.has(agent.qualified_name),
  }));
  const taken = new Set(agents.map((agent) => agent.name));
  // A named session and the agent that it runs usually share their name; the address is one.
  for (const session of config.named_sessions) {
    if (taken.has(session.qualified_name)) continue;
    taken.add(session.qualified_name);
    agents.push({ name: session.qualified_name, base: session.name, rig: session.dir, kind: 'named_session', named: true });
  }
  return { rigs: [own, ...rigs], agents };
}
