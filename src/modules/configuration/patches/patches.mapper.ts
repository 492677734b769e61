import { masked } from '../../files/composition/mask.js';
import { AGENT_MEMBERS, PROVIDER_MEMBERS, RIG_MEMBERS, type Members } from './patch-members.js';
import type { AgentPatch, ProviderPatch, RigPatch } from './patches.schemas.js';

/** A patch as the files say it. */
export type StoredPatch = Readonly<Record<string, unknown>>;

const POOL = {
  Min: 'min_active_sessions',
  Max: 'max_active_sessions',
  Check: 'scale_check',
  DrainTimeout: 'drain_timeout',
  OnDeath: 'on_death',
  OnBoot: 'on_boot',
};

export function toAgentPatch(stored: StoredPatch): AgentPatch {
  const shown = masked(stored);
  const pool = Object.fromEntries(Object.entries(POOL).map(([name, key]) => [name, shown[key] ?? null]));
  const members = { Dir: shown.dir ?? '', Name: shown.name, Pool: pool, ...membersOf(AGENT_MEMBERS, shown) };
  return { ...members, Other: restOf(shown, AGENT_MEMBERS, ['dir', 'name', ...Object.values(POOL)]) } as AgentPatch;
}

export function toRigPatch(stored: StoredPatch): RigPatch {
  const shown = masked(stored);
  return { Name: shown.name, ...membersOf(RIG_MEMBERS, shown), Other: restOf(shown, RIG_MEMBERS, ['name']) } as RigPatch;
}

export function toProviderPatch(stored: StoredPatch): ProviderPatch {
  const shown = masked(stored);
  const members = { Name: shown.name, Replace: shown._replace ?? false, ...membersOf(PROVIDER_MEMBERS, shown) };
  return { ...members, Other: restOf(shown, PROVIDER_MEMBERS, ['name', '_replace']) } as ProviderPatch;
}

function membersOf(members: Members, shown: StoredPatch): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, [key, kind]]) => [name, shown[key] ?? (kind === 'map' ? {} : null)]));
}

function restOf(shown: StoredPatch, members: Members, others: readonly string[]): Record<string, unknown> {
  const known = new Set([...Object.values(members).map(([key]) => key), ...others]);
  return Object.fromEntries(Object.entries(shown).filter(([key]) => !known.has(key)));
}
