import { LIMITS } from '../../files/composition/compose/limits.js';
import { pathFrom } from '../../files/composition/compose/run.js';

/** A parsed TOML file, or a table of one. */
export type Document = Record<string, unknown>;

export const CITY_FILE = 'city.toml';
export const ROOT_PACK = 'pack.toml';
export const SITE_FILE = '.gc/site.toml';

/** The files of a city's own that may define things; what a later one says counts more. */
export function filesOf(city: Document): string[] {
  const fragments = (Array.isArray(city.include) ? city.include : []).flatMap((path) =>
    typeof path === 'string' ? (pathFrom('', path) ?? []) : [],
  );
  return [ROOT_PACK, CITY_FILE, ...[...new Set(fragments)].slice(0, LIMITS.fragments)];
}

export function isTable(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The table under a path of keys; undefined when there is something else, or nothing. */
export function tableIn(document: Document | undefined, ...keys: readonly string[]): Document | undefined {
  let at: unknown = document;
  for (const key of keys) {
    if (!isTable(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return isTable(at) ? at : undefined;
}

/** The tables of a list under a key; whatever else is there is not ours to judge. */
export function tablesIn(parent: Document, key: string): Document[] {
  const value = Object.hasOwn(parent, key) ? parent[key] : undefined;
  return Array.isArray(value) ? value.filter(isTable) : [];
}
