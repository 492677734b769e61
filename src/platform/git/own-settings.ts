import { chmod, lstat, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { leftFolders } from '../runtime/preparation/left-folders.js';
import { removeTree } from '../runtime/preparation/remove-tree.js';
import { textOf, type OwnRepository } from './own-repository.js';

/** How files are compared, and what branches follow. Whatever else a repository sets may name a program, or a file of somebody else's. */
const COUNTS =
  /^(?:core\.(?:repositoryformatversion|filemode|ignorecase|precomposeunicode|trustctime|checkstat|sparsecheckout|sparsecheckoutcone)|(?:diff|status)\.renames|branch\..+\.(?:remote|merge)|remote\..+\.fetch)$/s;
/** Of these only a plain word: it could be an address as well. */
const PLAIN = /^extensions\.(?:objectformat|refstorage)\n\w+$/;
/** What git looks for beside the settings, and has to be the repository's. */
const SHARED = ['objects', 'refs', 'packed-refs', 'reftable', 'info', 'shallow'];
const PREFIX = 'svc-git-settings-';
/** No look takes as long. */
const LEFT_MS = 3_600_000;

/**
 * Has git work on a repository with the settings of it that count here, in a folder of the service's own: an agent that writes other ones
 * meanwhile, into any of git's files, changes nothing. `work` is given that folder, as the one that git takes for the common directory.
 *
 * @param list what `git config --null --list` says of a file in the folder
 * @throws Error where the settings cannot be read as they lie there; what `list` and `work` throw
 */
export async function withOwnSettings<T>(
  { gitDir, common }: OwnRepository,
  list: (file: string, folder: string) => Promise<string>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), PREFIX));
  const given = path.join(folder, 'given');
  // All of it, which may have passwords in addresses, is there only while git lists it.
  const listed = async (file: string): Promise<string> => {
    await write(given, await textOf(file).catch(unlessMissing));
    const text = await list(given, folder);
    await rm(given);
    return text;
  };
  try {
    let settings = await listed(path.join(common, 'config'));
    if (countOfTree(settings)) settings += await listed(path.join(gitDir, 'config.worktree'));
    await write(path.join(folder, 'config'), counting(settings));
    for (const name of SHARED) {
      const at = path.join(common, name);
      if ((await lstat(at).catch(() => undefined)) !== undefined) await symlink(at, path.join(folder, name));
    }
    return await work(folder);
  } finally {
    await removeTree(folder);
  }
}

/** Removes such folders of this user that processes which were killed have left. Answers how many. */
export async function sweepOwnSettings(above = tmpdir(), now = Date.now()): Promise<number> {
  let removed = 0;
  for await (const folder of leftFolders({ above, prefix: PREFIX, olderThanMs: LEFT_MS, now })) {
    removed += await removeTree(folder).then(
      () => 1,
      () => 0,
    );
  }
  return removed;
}

/** Whether settings of a tree count beside those of its repository, as these say. */
function countOfTree(listed: string): boolean {
  const said = listed.split('\0').findLast((each) => /^extensions\.worktreeconfig(?:\n|$)/.test(each));
  return said !== undefined && !/\n(?:false|no|off|0*)$/i.test(said);
}

/** Settings as git lists them, as a file that git reads. */
function counting(listed: string): string {
  const lines = listed.split('\0').flatMap((each) => {
    const [, key, value = 'true'] = /^([^\n]*)(?:\n(.*))?$/s.exec(each)!;
    if (!COUNTS.test(key!) && !PLAIN.test(each)) return [];
    const [, section, inner, name] = /^([^.]+)(?:\.(.*))?\.([^.]+)$/s.exec(key!)!;
    return [`[${section}${inner === undefined ? '' : ` ${quoted(inner)}`}]\n\t${name} = ${quoted(value)}\n`];
  });
  return lines.join('');
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** For whoever may go into the folder. */
async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  await chmod(file, 0o644);
}

function unlessMissing(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') throw error;
  return '';
}
