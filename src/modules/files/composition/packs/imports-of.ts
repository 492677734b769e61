import { checkedFiles } from '../compose/checked-files.js';
import { includesOfCity } from '../compose/includes.js';
import { CITY_FORMAT, FRAGMENT_FORMAT } from '../formats/city.format.js';
import type { Format } from '../formats/format.js';
import { PACK_FORMAT } from '../formats/pack.format.js';
import { readTable } from '../formats/read.js';
import type { Issue } from '../issue.js';
import { Table } from '../tree.js';
import type { FileTree } from '../trees/file-tree.js';
import type { FoundPack, ImportRequest } from './pack-store.js';

export type Wish = ImportRequest & {
  /** Who asks, for messages: `imports.desk` of a file. */
  readonly asked: string;
  /** Whether the imports of what is imported count. */
  readonly transitive: boolean;
};

/** What the files of a city import: its own packs, those that new rigs get, those of its rigs. */
export async function importsOfCity(city: FileTree, issues: Issue[]): Promise<Wish[]> {
  const table = await read(city, 'city.toml', CITY_FORMAT, issues);
  const files = [await read(city, 'pack.toml', PACK_FORMAT, issues), table];
  // What is wrong with an entry of `include` is for composing to tell.
  for (const include of table === undefined ? [] : includesOfCity(table))
    if ('path' in include) files.push(await read(city, include.path, FRAGMENT_FORMAT, issues));
  return files.flatMap((file) => {
    if (file === undefined) return [];
    const rigs = file.tables('rigs').map((rig) => rig.table('imports'));
    return [file.table('imports'), file.table('defaults')?.table('rig')?.table('imports'), ...rigs].flatMap((imports) =>
      wishes(imports, city, ''),
    );
  });
}

/** What a pack imports. */
export async function importsOfPack({ tree, folder }: FoundPack, issues: Issue[]): Promise<Wish[]> {
  const table = await read(tree, folder === '' ? 'pack.toml' : `${folder}/pack.toml`, PACK_FORMAT, issues);
  return wishes(table?.table('imports'), tree, folder);
}

/** Every round of an installation reads these files again, and composing does: each is parsed once. */
function read(tree: FileTree, path: string, format: Format, issues: Issue[]): Promise<Table | undefined> {
  return readTable(tree, path, format, issues, checkedFiles.document);
}

function wishes(imports: Table | undefined, from: FileTree, folder: string): Wish[] {
  return [...(imports?.entries.values() ?? [])].flatMap((entry) => {
    if (!(entry instanceof Table)) return [];
    const source = entry.text('source');
    if (source === undefined) return [];
    const asked = `${entry.at} of ${entry.origin.file}`;
    return [{ source, version: entry.text('version'), from, folder, asked, transitive: entry.flag('transitive') ?? true }];
  });
}
