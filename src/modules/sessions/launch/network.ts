import type { CityConfig, NetworkRule } from '../../files/composition/city-config.js';
import type { Template } from './launch.js';

/**
 * The rules that a session's programs stand under: that of the city and that of its provider, each of which has to allow a
 * host. So neither a provider opens what its city closes, nor the other way round. Undefined when nothing is restricted.
 */
export function networkOf({ workspace }: CityConfig, { spec }: Pick<Template, 'spec'>): readonly NetworkRule[] | undefined {
  const rules = [workspace.network, spec.network].filter((rule): rule is NetworkRule => rule !== undefined && rule !== 'all');
  return rules.length === 0 ? undefined : rules;
}
