import { CITY_FORMAT } from '../formats/city.format.js';
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
  const table = await readTable(city, 'city.toml', CITY_FORMAT, issues);
  const pack = await readTable(city, 'pack.toml', PACK_FORMAT, issues);
  const fragments = await Promise.all((table?.texts('include') ?? []).map((file) => readTable(city, file, CITY_FORMAT, issues)));
  return [pack, table, ...fragments].flatMap((file) => {
    if (file === undefined) return [];
    const rigs = file.tables('rigs').map((rig) => rig.table('imports'));
    return [file.table('imports'), file.table('defaults')?.table('rig')?.table('imports'), ...rigs].flatMap((imports) =>
      wishes(imports, city, ''),
    );
  });
}

/** What a pack imports. */
export async function importsOfPack({ tree, folder }: FoundPack, issues: Issue[]): Promise<Wish[]> {
  const table = await readTable(tree, folder === '' ? 'pack.toml' : `${folder}/pack.toml`, PACK_FORMAT, issues);
  return wishes(table?.table('imports'), tree, folder);
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
