import type { Issue } from '../issue.js';
import { Table } from '../tree.js';
import { issueAt } from './issue-at.js';
import { PRESET_NAMES, presetOf } from './presets.js';

/** What a provider builds on: another one of the catalogue, a preset, or nothing. */
export type Base = { readonly custom: string } | { readonly builtin: string } | undefined;

/** More than any real hierarchy needs; arguments and environments grow with every step. */
const MAX_DEPTH = 16;

/**
 * What every provider of a catalogue builds on, those after their bases; without those whose base is unknown, in a
 * circle or too far away, or builds on such a one. Each of these causes is told once.
 */
export function basesOf(catalog: Table, issues: Issue[]): Map<string, Base> {
  const declared = new Map<string, Base | 'unknown'>();
  const names = [...catalog.entries.keys()].sort();
  for (const [name, provider] of catalog.entries) {
    if (provider instanceof Table) declared.set(name, baseOf(name, provider, catalog, names, issues));
  }
  const ordered = new Map<string, Base>();
  const broken = new Set<string>();
  const depths = new Map<string, number>();
  for (const first of declared.keys()) {
    const pending = unvisited(first, declared, (name) => ordered.has(name) || broken.has(name));
    if (pending.circle !== undefined) {
      const [start] = pending.circle as [string];
      issues.push(issueAt(catalog.table(start)!, 'base', `is in a circle: ${[...pending.circle, start].join(' -> ')}`));
    }
    for (const name of pending.names.reverse()) {
      const base = declared.get(name);
      const under = base !== undefined && base !== 'unknown' && 'custom' in base ? base.custom : undefined;
      const depth = under === undefined ? 1 : (depths.get(under) ?? 0) + 1;
      if (depth > MAX_DEPTH) issues.push(issueAt(catalog.table(name)!, 'base', `builds on more than ${MAX_DEPTH} others`));
      if (depth > MAX_DEPTH || base === 'unknown' || (under !== undefined && !ordered.has(under))) broken.add(name);
      else {
        ordered.set(name, base);
        depths.set(name, depth);
      }
    }
  }
  return ordered;
}

/** A name and those it builds on, as far as they have not been looked at, and the circle that they end in if they do. */
function unvisited(
  first: string,
  declared: ReadonlyMap<string, Base | 'unknown'>,
  visited: (name: string) => boolean,
): { names: string[]; circle: string[] | undefined } {
  const names = new Set<string>();
  let name: string | undefined = first;
  while (name !== undefined && !visited(name)) {
    if (names.has(name)) return { names: [...names], circle: fromSmallest([...names].slice([...names].indexOf(name))) };
    names.add(name);
    const base: Base | 'unknown' = declared.get(name);
    name = base !== undefined && base !== 'unknown' && 'custom' in base ? base.custom : undefined;
  }
  return { names: [...names], circle: undefined };
}

/** A circle told from its smallest name on, so that it is the same whatever comes first in the files. */
function fromSmallest(circle: readonly string[]): string[] {
  const at = circle.indexOf(circle.reduce((least, name) => (name < least ? name : least)));
  return [...circle.slice(at), ...circle.slice(0, at)];
}

function baseOf(name: string, provider: Table, catalog: Table, names: readonly string[], issues: Issue[]): Base | 'unknown' {
  const written = provider.text('base');
  if (written === undefined) return presetOf(name) === undefined ? undefined : { builtin: name };
  if (written === '') return undefined;
  const [, kind, target] = /^(?:(builtin|provider):)?(.*)$/s.exec(written) as unknown as [string, string | undefined, string];
  const custom = kind !== 'builtin' && catalog.table(target) !== undefined;
  const builtin = kind !== 'provider' && presetOf(target) !== undefined;
  // A bare name is the builtin's in the provider that overrides it: it cannot mean itself.
  if (custom && !(kind === undefined && target === name && builtin)) return { custom: target };
  if (builtin) return { builtin: target };
  const customs = kind === 'builtin' ? [] : names.slice(0, 30).filter((other) => other !== name);
  const builtins = kind === 'provider' ? [] : PRESET_NAMES.map((preset) => `builtin:${preset}`);
  issues.push(issueAt(provider, 'base', 'names no provider', [...customs, ...builtins]));
  return 'unknown';
}
