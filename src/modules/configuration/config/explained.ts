import type { CityConfig } from '../../files/composition/city-config.js';
import { masked } from '../../files/composition/mask.js';
import { join } from '../../files/composition/tree.js';
import { PATCH_KINDS } from '../../../contract/events/config.events.js';
import { comparable, keysBetween, patchTarget } from './changes.js';
import type { ConfigDiffBody, ConfigValue } from './config.schemas.js';

export type Origin = readonly [path: string, file: string, key: string];

/** Every value at or below a path with where it was written. Keys name things of lists, as those of differences do. */
export function valuesAt(config: CityConfig, origins: readonly Origin[], path: string | undefined): ConfigValue[] {
  const leaves = leavesOf(masked(config));
  const places = placesOf(config);
  const wanted = path === undefined || path === '' ? undefined : keyOf(path, places);
  const result: ConfigValue[] = [];
  for (const [at, file, key] of origins) {
    const named = nameOf(at, places);
    if (wanted !== undefined && !isAtOrBelow(named, wanted)) continue;
    result.push({ path: named, value: leaves.get(at), file, key });
  }
  return result;
}

function isAtOrBelow(at: string, wanted: string): boolean {
  if (!at.startsWith(wanted)) return false;
  const next = at[wanted.length];
  return next === undefined || next === '.' || next === '[';
}

/** `agents."core.worker"` for `agents[3]`: people know names, not places in a list. */
function placesOf(config: CityConfig): Map<string, string> {
  const places = new Map<string, string>();
  const put = <T>(list: string, items: readonly T[], name: (item: T) => string): void =>
    items.forEach((item, n) => places.set(`${list}[${n}]`, join(list, name(item))));
  put('agents', config.agents, (agent) => agent.qualified_name);
  put('rigs', config.rigs, (rig) => rig.name);
  put('named_sessions', config.named_sessions, (session) => session.qualified_name);
  for (const kind of PATCH_KINDS) put(`patches.${kind}`, config.patches[kind], patchTarget);
  return places;
}

const PLACE = /^[a-z_.]+\[\d+\]/;

function nameOf(at: string, places: ReadonlyMap<string, string>): string {
  const place = PLACE.exec(at)?.[0];
  const name = place === undefined ? undefined : places.get(place);
  return name === undefined ? at : name + at.slice(place!.length);
}

/** The key that was meant: in full, by place, or with a name written without quotes, as in `agents.core.worker.provider`. */
function keyOf(path: string, places: ReadonlyMap<string, string>): string {
  const named = nameOf(path, places);
  if (named !== path) return named;
  let best = '';
  let found = path;
  for (const key of places.values()) {
    const bare = key.replaceAll('"', '');
    if (bare.length <= best.length || !isAtOrBelow(path, bare)) continue;
    best = bare;
    found = key + path.slice(bare.length);
  }
  return found;
}

function leavesOf(value: unknown, path = '', into = new Map<string, unknown>()): Map<string, unknown> {
  if (Array.isArray(value) && value.length > 0) value.forEach((item, n) => leavesOf(item, `${path}[${n}]`, into));
  else if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
    for (const [key, member] of Object.entries(value)) leavesOf(member, join(path, key), into);
  else into.set(path, value);
  return into;
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
  return { [name]: values.get(path) };
}

/** The values, as they may be shown, by the keys that differences name: tables are taken apart, lists are not. */
function leafIndex(config: CityConfig): Map<string, unknown> {
  const into = new Map<string, unknown>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
      for (const [key, member] of Object.entries(value)) walk(member, join(path, key));
    else into.set(path, value);
  };
  walk(masked(comparable(config)), '');
  return into;
}
