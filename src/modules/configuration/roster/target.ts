import { problem } from '../../../contract/problems.js';
import type { RosterAgent } from './roster.js';

/** Whom work is slung to, under the name that queues and hooks know. */
export interface Target {
  readonly name: string;
  /** Empty for an agent of the city. */
  readonly rig: string;
  /** Whether an owner or a route, as it was stored, means this target. */
  answersTo(text: string): boolean;
}

/** A slot of a pool: `polecat-3` works from the queue of `polecat`. */
const SLOT = /-\d+$/;

/**
 * The agent that `text` names: in full; bare within `rig` or, without one, bare and unique in the city; or as a slot of
 * a pool. Within a rig a bare name means an agent of the rig before one of the city, and never one of another rig.
 *
 * @throws ProblemError agent_not_found, with the candidates when there are several.
 */
export function resolveTarget(agents: readonly RosterAgent[], text: string, rig: string): Target {
  const found = meant(agents, text, rig);
  if (found.length === 0) throw problem('agent_not_found', `target ${text} not found`);
  if (found.length > 1) {
    const candidates = found.map((agent) => ({ location: 'body.target', message: 'is a candidate', value: agent.name }));
    throw problem('agent_not_found', `target ${text} not found: it could be ${found.map((agent) => agent.name).join(' or ')}`, {
      errors: candidates,
    });
  }
  const { name, rig: home } = found[0]!;
  return {
    name,
    rig: home,
    answersTo: (other) => {
      const others = meant(agents, other, '');
      return others.length === 1 && others[0]!.name === name;
    },
  };
}

function meant(agents: readonly RosterAgent[], text: string, rig: string): readonly RosterAgent[] {
  const found = lookUp(agents, text, rig);
  return found.length > 0 || !SLOT.test(text) ? found : lookUp(agents, text.replace(SLOT, ''), rig);
}

function lookUp(agents: readonly RosterAgent[], text: string, rig: string): readonly RosterAgent[] {
  const named = (name: string): readonly RosterAgent[] => agents.filter((agent) => agent.name === name);
  if (rig !== '' && !text.includes('/')) {
    const own = named(`${rig}/${text}`);
    return own.length > 0 ? own : named(text);
  }
  const exact = named(text);
  return exact.length > 0 ? exact : agents.filter((agent) => agent.base === text);
}
