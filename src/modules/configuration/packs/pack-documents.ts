import { problem } from '../../../contract/problems.js';
import { CITY_FILE, filesOf, ROOT_PACK, tableIn } from '../config/documents.js';
import type { Draft } from '../config/draft.js';

const DEFAULT_RIG = 'default-rig:';

/** Where imports stand in a document: the city's own, or those that new rigs get. */
type Keys = readonly ['imports'] | readonly ['defaults', 'rig', 'imports'];

/** An import as the API names it. */
export interface ImportName {
  readonly binding: string;
  readonly keys: Keys;
}

export function importName(name: string): ImportName {
  return name.startsWith(DEFAULT_RIG)
    ? { binding: name.slice(DEFAULT_RIG.length), keys: ['defaults', 'rig', 'imports'] }
    : { binding: name, keys: ['imports'] };
}

export function nameOfDefault(binding: string): string {
  return `${DEFAULT_RIG}${binding}`;
}

/** The city's own files that define an import; what the first one says counts. */
export async function filesThatImport(draft: Draft, { binding, keys }: ImportName): Promise<string[]> {
  const found: string[] = [];
  for (const file of filesOf(await draft.document(CITY_FILE)).reverse()) {
    const imports = tableIn(await draft.document(file), ...keys);
    if (imports !== undefined && Object.hasOwn(imports, binding)) found.push(file);
  }
  return found;
}

/** Writes an import of the city: into the root pack, where there is one. */
export async function putImport(draft: Draft, binding: string, entry: { source: string; version?: string }): Promise<void> {
  const file = (await draft.text(ROOT_PACK)) === undefined ? CITY_FILE : ROOT_PACK;
  await draft.edit(file, (document) => {
    if (!Object.hasOwn(document, 'imports')) document.imports = {};
    const imports = tableIn(document, 'imports');
    if (imports === undefined) throw problem('wrong_state', `imports is no table in ${file}; mend it first`);
    imports[binding] = { ...entry };
  });
}

/** Takes an import out of one file, and the tables around it that would be empty. */
export async function dropImport(draft: Draft, file: string, { binding, keys }: ImportName): Promise<void> {
  await draft.edit(file, (document) => {
    const way = keys.map((_, n) => tableIn(document, ...keys.slice(0, n)));
    const imports = tableIn(document, ...keys);
    if (imports !== undefined) delete imports[binding];
    for (let n = keys.length - 1; n >= 0; n--) {
      const inner = tableIn(document, ...keys.slice(0, n + 1));
      if (inner !== undefined && Object.keys(inner).length === 0) delete way[n]![keys[n]!];
    }
  });
}
