import { checkedFiles } from '../compose/checked-files.js';
import { includesOfCity } from '../compose/includes.js';
import { overlaid } from '../compose/nodes.js';
import { importsOf, includesOf, type Asked } from '../compose/pack-graph.js';
import { CITY_FORMAT, FRAGMENT_FORMAT } from '../formats/city.format.js';
import type { Format } from '../formats/format.js';
import { PACK_FORMAT } from '../formats/pack.format.js';
import { readTable } from '../formats/read.js';
import type { Issue } from '../issue.js';
import type { Table } from '../tree.js';
import type { FileTree } from '../trees/file-tree.js';
import type { FoundPack, ImportRequest } from './pack-store.js';

export type Wish = ImportRequest & {
  /** Who asks, for messages: `imports.desk` of a file. */
  readonly asked: string;
};

/** What the files of a city import, the old ways included: its own packs, those that new rigs get, those of its rigs. */
export async function importsOfCity(city: FileTree, issues: Issue[]): Promise<Wish[]> {
  const table = await read(city, 'city.toml', CITY_FORMAT, issues);
  const files = [await read(city, 'pack.toml', PACK_FORMAT, issues), table];
  // What is wrong with an entry of `include` is for composing to tell.
  for (const include of table === undefined ? [] : includesOfCity(table))
    if ('path' in include) files.push(await read(city, include.path, FRAGMENT_FORMAT, issues));
  const there = files.filter((file) => file !== undefined);
  const named = there.reduce<Table | undefined>((packs, file) => overlaid(packs, file.table('packs')), undefined);
  const asked = there.flatMap((file) => [
    ...askedIn(file.table('workspace'), file.table('imports'), named),
    ...importsOf(file.table('defaults')?.table('rig')?.table('imports')),
    ...file.tables('rigs').flatMap((rig) => askedIn(rig, rig.table('imports'), named)),
  ]);
  return asked.map((each) => wishOf(each, city, ''));
}

/** What a pack imports. */
export async function importsOfPack({ tree, folder }: FoundPack, issues: Issue[]): Promise<Wish[]> {
  const table = await read(tree, folder === '' ? 'pack.toml' : `${folder}/pack.toml`, PACK_FORMAT, issues);
  return askedIn(table, table?.table('imports')).map((each) => wishOf(each, tree, folder));
}

/** As composing follows them. */
function askedIn(including: Table | undefined, imports: Table | undefined, named?: Table): Asked[] {
  return [...includesOf(including, 'includes', named), ...importsOf(imports)];
}

/** Every round of an installation reads these files again, and composing does: each is parsed once. */
function read(tree: FileTree, path: string, format: Format, issues: Issue[]): Promise<Table | undefined> {
  return readTable(tree, path, format, issues, checkedFiles.document);
}

function wishOf({ binding, source, table, where }: Asked, from: FileTree, folder: string): Wish {
  const asked = `${binding === '' ? where.at : table.at} of ${where.origin.file}`;
  return { source, version: table.text('version'), from, folder, asked };
}
