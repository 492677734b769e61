import { problem } from '../../../contract/problems.js';
import { patchTarget } from '../config/changes.js';
import { isTable, type Document } from '../config/documents.js';
import { unmasked } from '../config/unmasked.js';

/** What can be patched over HTTP, under the names of the files. */
export type PatchedKind = 'agent' | 'rigs' | 'providers';

/** Fields that requests can set, by the key that files have for them; null and undefined take the key out. */
export type PatchFields = Readonly<Record<string, unknown>>;

/** True when the document has a patch for the target. */
export function hasPatch(document: Document, kind: PatchedKind, target: string): boolean {
  return entriesOf(document, kind).some((entry) => patchTarget(entry) === target);
}

/**
 * Makes the fields of a patch those that are given, and adds the patch where there is none; its other keys stay. Of several
 * patches for one target the last one counts most and is the one that changes.
 *
 * @throws ProblemError validation_failed for a masked value that nothing is stored for.
 */
export function putPatch(document: Document, kind: PatchedKind, identity: PatchFields, fields: PatchFields): void {
  const entries = entriesOf(document, kind);
  const target = patchTarget(identity);
  let entry = entries.findLast((each) => patchTarget(each) === target);
  if (entry === undefined) {
    entry = { ...identity };
    entries.push(entry);
  }
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === null) delete entry[key];
    else entry[key] = unmasked(key, value, entry[key]);
  }
  const patches = isTable(document.patches) ? document.patches : (document.patches = {});
  (patches as Document)[kind] = entries;
}

/** Takes every patch for a target out. */
export function dropPatch(document: Document, kind: PatchedKind, target: string): void {
  const left = entriesOf(document, kind).filter((entry) => patchTarget(entry) !== target);
  putEntries(document, kind, left);
}

/**
 * Has `uncover` take out of the patches for a target what would hide a change of the target itself; patches that then say nothing go.
 * Answers whether there was anything to take: `uncover` answers it of each patch.
 */
export function uncoverIn(document: Document, kind: PatchedKind, target: string, uncover: (patch: Document) => boolean): boolean {
  const entries = isTable(document.patches) ? document.patches[kind] : undefined;
  // What is no list of patches hides nothing: composing says what is wrong with it.
  if (!Array.isArray(entries)) return false;
  let found = false;
  const left = (entries as Document[]).filter((entry) => {
    if (!isTable(entry) || patchTarget(entry) !== target || !uncover(entry)) return true;
    found = true;
    return Object.keys(entry).some((key) => key !== 'name' && key !== 'dir');
  });
  if (found) putEntries(document, kind, left);
  return found;
}

function putEntries(document: Document, kind: PatchedKind, entries: Document[]): void {
  const patches = document.patches as Document;
  if (entries.length > 0) patches[kind] = entries;
  else delete patches[kind];
  if (Object.keys(patches).length === 0) delete document.patches;
}

function entriesOf(document: Document, kind: PatchedKind): Document[] {
  if (document.patches === undefined) return [];
  const list = isTable(document.patches) ? (document.patches[kind] ?? []) : undefined;
  if (!Array.isArray(list) || !list.every(isTable))
    throw problem('wrong_state', `patches.${kind} is no list of tables in the file; mend it first`);
  return [...list];
}
