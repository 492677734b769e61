import { Suggestions } from '../../files/composition/compose/suggestions.js';
import { PRESET_NAMES, PRESETS, presetOf } from '../../files/composition/presets/presets.js';

/** Whether a city may be created with a provider of this name. */
export function isProviderName(name: string): boolean {
  return presetOf(name) !== undefined;
}

/** What helps who has named a provider that there is not: the one that he meant, or all of them. */
export function providerHint(name: string, names: readonly string[] = PRESET_NAMES): string {
  const meant = new Suggestions().meant(name, names);
  return meant === undefined ? `known are ${names.join(', ')}` : `did you mean ${meant}?`;
}

/** What can be probed on a worker host. */
export interface ReadinessItemSpec {
  readonly name: string;
  readonly kind: 'provider' | 'tool';
  readonly displayName: string;
}

const tool = (name: string, displayName: string): ReadinessItemSpec => ({ name, kind: 'tool', displayName });

/** Every preset, under the name that cities know it by, and the tools that agents need. */
export const READINESS_ITEMS: readonly ReadinessItemSpec[] = [
  ...Object.entries(PRESETS).map(([name, { display_name }]): ReadinessItemSpec => ({
    name,
    kind: 'provider',
    displayName: display_name ?? name,
  })),
  tool('github_cli', 'GitHub CLI'),
];

export const DEFAULT_ITEMS = ['claude', 'codex', 'gemini', 'github_cli', 'loopback'] as const;
export const DEFAULT_PROVIDERS = ['claude', 'codex', 'gemini', 'loopback'] as const;

export function findItem(name: string): ReadinessItemSpec | undefined {
  return READINESS_ITEMS.find((item) => item.name === name);
}

/** What a probe can find, best first: of several hosts the best one counts. */
export const READINESS_STATUSES = ['configured', 'needs_auth', 'invalid_configuration', 'probe_error', 'not_installed'] as const;
export type ReadinessStatus = (typeof READINESS_STATUSES)[number];

export interface ProbeResult {
  readonly status: ReadinessStatus;
  /** Says what to do; absent when configured. */
  readonly detail?: string;
  /** What the program says of itself; absent when it says nothing that looks like one. */
  readonly version?: string;
}
