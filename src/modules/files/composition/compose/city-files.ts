import { CITY_FORMAT } from '../formats/city.format.js';
import { PACK_FORMAT } from '../formats/pack.format.js';
import { SITE_FORMAT } from '../formats/site.format.js';
import type { Table } from '../tree.js';
import { withFragments } from './fragments.js';
import { withRootPack } from './root-pack.js';
import type { Run } from './run.js';

/** What the city's own documents say together: `city.toml` on top of `pack.toml`, with the fragments. */
export interface CityFiles {
  readonly city: Table;
  /** `pack.toml`; a city can do without. */
  readonly pack: Table | undefined;
  /** The layout of the city: 1 without `pack.toml`. */
  readonly schema: number;
  readonly site: Table | undefined;
}

export const CITY_FILE = 'city.toml';
export const ROOT_PACK = 'pack.toml';
const SITE_FILE = '.gc/site.toml';

/** Reads a city's documents; undefined, and told, when there is no usable `city.toml`. */
export async function readCityFiles(run: Run): Promise<CityFiles | undefined> {
  const { tree } = run.input;
  const written = await run.table({ tree, path: CITY_FILE }, CITY_FORMAT);
  if (written === undefined && run.issues.length === 0) run.error({ origin: { file: CITY_FILE }, at: '' }, 'is missing');
  const pack = await run.table({ tree, path: ROOT_PACK }, PACK_FORMAT);
  const site = await run.table({ tree, path: SITE_FILE }, SITE_FORMAT);
  if (written === undefined) return undefined;
  const imports = written.get('imports');
  if (imports !== undefined && pack !== undefined) run.warn(imports, 'belongs in pack.toml, which the city has');
  const legacy = written.get('packs');
  if (legacy !== undefined) run.warn(legacy, 'is an old form; use imports');
  const city = await withFragments(run, pack === undefined ? written : withRootPack(written, pack));
  return { city, pack, schema: pack?.table('pack')?.number('schema') ?? 1, site };
}
