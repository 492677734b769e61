import type { CityConfig } from '../composition/city-config.js';
import { isSecretPath, MASK, masked } from '../composition/mask.js';
import { join } from '../composition/tree.js';
import { comparable, keysBetween } from './changes.js';
import type { ConfigDiffBody, ConfigValue } from './config.schemas.js';

type Origin = readonly [path: string, file: string, key: string];

/** Every value at or below a path with where it was written; lists are also found by their members' names. */
export function valuesAt(config: CityConfig, origins: readonly Origin[], path: string | undefined): ConfigValue[] {
  const leaves = leavesOf(config);
  const names = aliasesOf(config);
  const wanted = path === undefined || path === '' ? undefined : (names.get(path) ?? resolve(path, names));
  const result: ConfigValue[] = [];
  for (const [at, file, key] of origins) {
    if (wanted !== undefined && !isAtOrBelow(at, wanted)) continue;
    result.push({ path: at, value: isSecretPath(at) ? MASK : masked(leaves.get(at), lastKey(at)), file, key });
  }
  return result;
}

function isAtOrBelow(at: string, wanted: string): boolean {
  if (!at.startsWith(wanted)) return false;
  const next = at[wanted.length];
  return next === undefined || next === '.' || next === '[';
}

/** `agents.core.worker` and `rigs.web` for `agents[3]` and `rigs[0]`: people know names, not places in a list. */
function aliasesOf(config: CityConfig): Map<string, string> {
  const names = new Map<string, string>();
  config.agents.forEach((agent, n) => names.set(`agents.${agent.qualified_name}`, `agents[${n}]`));
  config.rigs.forEach((rig, n) => names.set(`rigs.${rig.name}`, `rigs[${n}]`));
  config.named_sessions.forEach((session, n) => names.set(`named_sessions.${session.qualified_name}`, `named_sessions[${n}]`));
  return names;
}

/** The longest name that the path begins with, replaced by its place. */
function resolve(path: string, names: ReadonlyMap<string, string>): string {
  let best = '';
  for (const name of names.keys()) if (name.length > best.length && isAtOrBelow(path, name)) best = name;
  return best === '' ? path : names.get(best)! + path.slice(best.length);
}

function leavesOf(value: unknown, path = '', into = new Map<string, unknown>()): Map<string, unknown> {
  if (Array.isArray(value) && value.length > 0) value.forEach((item, n) => leavesOf(item, `${path}[${n}]`, into));
  else if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
    for (const [key, member] of Object.entries(value)) leavesOf(member, join(path, key), into);
  else into.set(path, value);
  return into;
}

function lastKey(path: string): string {
  return /([^.[\]]+)(?:\[\d+\])*$/.exec(path)?.[1] ?? '';
}

const SHOWN = 1_000;

/** What differs between two configurations, with both values. */
export function differencesBetween(before: CityConfig, after: CityConfig): Pick<ConfigDiffBody, 'differences' | 'total'> {
  const keys = keysBetween(before, after);
  const [old, now] = [leafIndex(before), leafIndex(after)];
  const differences = keys.slice(0, SHOWN).map((path) => ({ path, ...side('before', path, old), ...side('after', path, now) }));
  return { differences, total: keys.length };
}

function side(name: 'before' | 'after', path: string, values: ReadonlyMap<string, unknown>): Partial<Record<'before' | 'after', unknown>> {
  if (!values.has(path)) return {};
  return { [name]: isSecretPath(path) ? MASK : masked(values.get(path), lastKey(path)) };
}

/** The values by the keys that differences name: tables are taken apart, lists are not. */
function leafIndex(config: CityConfig): Map<string, unknown> {
  const into = new Map<string, unknown>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
      for (const [key, member] of Object.entries(value)) walk(member, join(path, key));
    else into.set(path, value);
  };
  walk(comparable(config), '');
  return into;
}
