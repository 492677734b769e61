import { problem } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { presetOf } from '../../files/composition/presets/presets.js';
import { patchTarget } from '../config/changes.js';
import type { PatchedKind, PatchFields } from './patch-documents.js';

/** @throws ProblemError agent_not_found, rig_not_found or provider_not_found when the city has nothing that the patch is for */
export function requireTarget(config: CityConfig, kind: PatchedKind, identity: PatchFields): void {
  const { dir = '', name } = identity;
  const target = patchTarget(identity);
  if (kind === 'agent') {
    if (config.agents.some((agent) => agent.qualified_name === target || (agent.dir === dir && agent.name === name))) return;
    throw problem('agent_not_found', `agent ${target} not found`);
  }
  if (kind === 'rigs') {
    if (config.rigs.some((rig) => rig.name === target)) return;
    throw problem('rig_not_found', `rig ${target} not found`);
  }
  if (Object.hasOwn(config.providers, target)) return;
  const hint = presetOf(target) === undefined ? '' : ` in the city; add [providers.${target}] with base = "builtin:${target}"`;
  throw problem('provider_not_found', `provider ${target} not found${hint}`);
}
