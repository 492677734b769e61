import { stringify } from 'smol-toml';
import { LOCK_FORMAT } from '../formats/lock.format.js';
import { checkDocument, readTable } from '../formats/read.js';
import type { Issue } from '../issue.js';
import { Table } from '../tree.js';
import type { FileTree } from '../trees/file-tree.js';
import { InvalidSource, parseSource } from './sources.js';

export const LOCK_FILE = 'packs.lock';

/** Characters: room for as many pins as a city may have packs. It is read on the event loop. */
const MAX_LENGTH = 256 * 1024;

/** What a repository's pack is pinned to. */
export interface LockedPack {
  /** Without `v`; absent when a commit was asked for. */
  readonly version?: string;
  /** In full: 40 or 64 hexadecimal digits. */
  readonly commit: string;
  /** RFC 3339, UTC. */
  readonly fetched: string;
}

/** The content of `packs.lock`: pins by `RepositorySource.id`. */
export type Lock = ReadonlyMap<string, LockedPack>;

/** The city's pins; what cannot be used is left out and told. @throws TreeFailure that is transient */
export async function readLock(tree: FileTree, issues: Issue[]): Promise<Lock> {
  const pins = new Map<string, LockedPack>();
  const table = await readTable(tree, LOCK_FILE, LOCK_FORMAT, issues, checkBrief);
  for (const [source, node] of table?.table('packs')?.entries ?? []) {
    if (!(node instanceof Table)) continue;
    const id = idOf(source);
    const commit = node.text('commit');
    if (id === undefined)
      issues.push({ severity: 'error', file: node.origin.file, key: node.at, message: 'is not the source of a repository' });
    if (id === undefined || commit === undefined) continue;
    const version = node.text('version');
    pins.set(id, { ...(version === undefined ? {} : { version }), commit, fetched: node.text('fetched') ?? '' });
  }
  return pins;
}

const checkBrief: typeof checkDocument = (text, file, format, issues) => {
  if (text.length <= MAX_LENGTH) return checkDocument(text, file, format, issues);
  issues.push({ severity: 'error', file, key: '', message: `has more than ${MAX_LENGTH} characters` });
  return undefined;
};

function idOf(source: string): string | undefined {
  try {
    const parsed = parseSource(source);
    return parsed.kind === 'repository' ? parsed.id : undefined;
  } catch (error) {
    if (error instanceof InvalidSource) return undefined;
    throw error;
  }
}

/** The text of `packs.lock`: the same for the same pins. */
export function writeLock(lock: Lock): string {
  const packs = Object.fromEntries(
    [...lock]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { version, commit, fetched }]) => [
        id,
        { ...(version === undefined ? {} : { version }), commit, ...(fetched === '' ? {} : { fetched }) },
      ]),
  );
  return `# What the imported repositories are pinned to. Written by the supervisor.\n\n${stringify({ schema: 1, packs })}`;
}
