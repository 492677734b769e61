import type { ProviderSpec } from '../city-config.js';

/** A provider for those who choose one: nothing of how it is started, and no environment. */
export interface PublicProvider {
  readonly name: string;
  readonly display_name: string;
  /** Without the arguments that choices stand for; absent when there is nothing to choose. */
  readonly options_schema?: readonly PublicOption[];
  /** What is in force for an option when a session says nothing; without options that are left to the tool. */
  readonly effective_defaults?: Readonly<Record<string, string>>;
}

export interface PublicOption {
  readonly key: string;
  readonly label: string;
  readonly type: 'select';
  /** '' where there is no default. */
  readonly default: string;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

/** The public view of a provider with everything it inherits. */
export function publicView(name: string, spec: ProviderSpec): PublicProvider {
  const view = { name, display_name: spec.display_name ?? name };
  const options = spec.options_schema ?? [];
  if (options.length === 0) return view;
  const defaults = options.map(({ key, default: fallback = '' }) => [key, own(spec.option_defaults, key) ?? fallback] as const);
  return {
    ...view,
    options_schema: options.map((option) => ({
      key: option.key,
      label: option.label ?? option.key,
      type: option.type,
      default: option.default ?? '',
      choices: (option.choices ?? []).map(({ value, label }) => ({ value, label: label ?? value })),
    })),
    effective_defaults: Object.fromEntries(defaults.filter(([, value]) => value !== '')),
  };
}

function own(map: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
