import { FORMULA_FORMAT } from '../formats/files.format.js';
import { fileName } from '../trees/file-tree.js';
import { Leaf, List, Table, type Node } from '../tree.js';
import { checkedFiles } from './checked-files.js';
import type { Home } from './home.js';
import { LIMITS } from './limits.js';
import { derivedTree } from './nodes.js';
import { below, folderOf, pathFrom, type Located, type Run } from './run.js';

/** Where formulas of a place find the files that they name. */
export interface Folders {
  readonly rig: string;
  readonly homes: readonly Home[];
}

/** What stands for a NUL, which PostgreSQL does not store: in a formula one that TOML has no place for either, so that it stays as unusable as its file. */
const INSTEAD = { formula: '\u0001', description: '\ufffd' };

/**
 * The texts of formulas and of the files that describe their steps, by the SHA-256 of their files. They are kept with the revision: who
 * asks for a formula reads no disk. One that holds a NUL is kept with another character for it, and told.
 * @throws TooMuch
 */
export async function readFormulaTexts(
  run: Run,
  formulas: List,
  folders: readonly Folders[],
  digestOf: (file: string) => string | undefined,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  // What lies in `assets/` of the city stands in front of what its packs have.
  const city: Home = { tree: run.input.tree, path: '', pack: '' };
  const homes = [city, ...new Set(folders.flatMap((each) => each.homes))];
  const keep = async (located: Located, of: keyof typeof INSTEAD): Promise<string | undefined> => {
    // One that names a file is looked for in every home, and mostly found in none.
    run.spend('looks', 1);
    const file = fileName(located.tree, located.path);
    const sha256 = digestOf(file);
    if (sha256 === undefined) return undefined;
    const known = texts.get(sha256);
    if (known !== undefined) return known;
    const read = await run.text(located);
    if (read === undefined) return undefined;
    const text = read.replaceAll('\0', INSTEAD[of]);
    if (text !== read) run.warn({ origin: { file }, at: '' }, 'has a NUL character, which cannot be stored: another one is kept for it');
    run.spend('texts', text.length);
    texts.set(sha256, text);
    return text;
  };
  const items = formulas.items.filter((item) => item instanceof Table);
  for (const item of items) {
    const located = run.sources.get(item.text('file') ?? '');
    const text = located && (await keep(located, 'formula'));
    if (located === undefined || text === undefined) continue;
    const { table } = checkedFiles.check(text, fileName(located.tree, located.path), FORMULA_FORMAT);
    for (const written of table === undefined ? [] : describedBy(table)) {
      const path = pathFrom(folderOf(located.path), written);
      if (path === undefined) continue;
      await keep({ tree: located.tree, path }, 'description');
      const asset = /(?:^|\/)(assets\/.*)$/.exec(path)?.[1];
      if (asset !== undefined) for (const home of homes) await keep({ tree: home.tree, path: below(home.path, asset) }, 'description');
    }
  }
  return texts;
}

/** The folders as they are stored: what the names of files in them begin with. */
export function foldersTree(folders: readonly Folders[]): List {
  return derivedTree(
    folders.map(({ rig, homes }) => ({ rig, folders: homes.map(({ tree, path }) => fileName(tree, path === '' ? '' : `${path}/`)) })),
  ) as List;
}

/** Every `description_file` of a formula's steps. */
function describedBy(table: Table): string[] {
  const found: string[] = [];
  const walk = (node: Node): void => {
    if (found.length > LIMITS.described) return;
    if (node instanceof List) for (const item of node.items) walk(item);
    else if (node instanceof Table)
      for (const [key, member] of node.entries) {
        if (key === 'description_file' && member instanceof Leaf && typeof member.value === 'string') found.push(member.value);
        else walk(member);
      }
  };
  for (const key of ['steps', 'template']) {
    const node = table.get(key);
    if (node !== undefined) walk(node);
  }
  return [...new Set(found)];
}
