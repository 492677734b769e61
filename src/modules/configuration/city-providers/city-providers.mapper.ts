import type { CityConfig, ProviderSpec } from '../../files/composition/city-config.js';
import { masked } from '../../files/composition/mask.js';
import { PRESET_NAMES, presetOf, PRESETS } from '../../files/composition/presets/presets.js';
import { publicView } from '../../files/composition/presets/public-view.js';
import type { ProviderPublicResponse, ProviderResponse } from './city-providers.schemas.js';

const SHOWN = [
  'display_name',
  'base',
  'command',
  'args',
  'args_append',
  'acp_command',
  'acp_args',
  'prompt_mode',
  'prompt_flag',
  'ready_delay_ms',
  'env',
  'option_defaults',
  'options_schema_merge',
  'network',
];

/** The city's providers by name, then the builtin ones that it does not define, in their own order. */
export function namesOf({ providers }: CityConfig): string[] {
  return [...Object.keys(providers).sort(), ...PRESET_NAMES.filter((name) => !Object.hasOwn(providers, name))];
}

/** What the city defines under a name, else the builtin; undefined when there is neither. */
export function toProvider({ providers }: CityConfig, name: string): ProviderResponse | undefined {
  const found = own(providers, name) ?? presetOf(name);
  if (found === undefined) return undefined;
  const shown = masked(found) as Record<string, unknown>;
  return { ...kindOf(providers, name), ...Object.fromEntries(SHOWN.flatMap((key) => (key in shown ? [[key, shown[key]]] : []))) };
}

export function toPublicProvider({ providers, resolved_providers }: CityConfig, name: string): ProviderPublicResponse {
  const view = publicView(name, own(resolved_providers, name) ?? PRESETS[name]!);
  return { ...view, ...kindOf(providers, name) } as ProviderPublicResponse;
}

function kindOf(providers: CityConfig['providers'], name: string): { name: string; builtin: boolean; city_level: boolean } {
  return { name, builtin: presetOf(name) !== undefined, city_level: Object.hasOwn(providers, name) };
}

function own(specs: Readonly<Record<string, ProviderSpec>>, name: string): ProviderSpec | undefined {
  return Object.hasOwn(specs, name) ? specs[name] : undefined;
}
