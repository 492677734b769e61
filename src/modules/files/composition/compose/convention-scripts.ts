import { COMMAND_FORMAT, DOCTOR_FORMAT } from '../formats/files.format.js';
import type { Format } from '../formats/format.js';
import type { Table } from '../tree.js';
import { fileName } from '../trees/file-tree.js';
import { filesBelow, foundFile, type Found } from './found.js';
import type { Home } from './home.js';
import { below, folderOf, resolvePath, type Located, type Run } from './run.js';

/** `commands/<word>/<word>…/`: the words are the command unless `command.toml` has others. */
export async function findCommands(run: Run, home: Home, digests: ReadonlyMap<string, string>): Promise<Found[]> {
  return findScripts(run, home, 'commands', 'command.toml', COMMAND_FORMAT, digests, (folder, table) => {
    const words = table?.texts('command') ?? [];
    return (words.length === 0 ? folder.split('/') : words).join(' ');
  });
}

/** `doctor/<name>/`. */
export async function findDoctorChecks(run: Run, home: Home, digests: ReadonlyMap<string, string>): Promise<Found[]> {
  return findScripts(run, home, 'doctor', 'doctor.toml', DOCTOR_FORMAT, digests, (folder) => folder);
}

const RUN = 'run.sh';

/** Folders with a script to run or a table about one. Their file is the script. */
async function findScripts(
  run: Run,
  home: Home,
  kind: string,
  about: string,
  format: Format,
  digests: ReadonlyMap<string, string>,
  nameOf: (folder: string, table: Table | undefined) => string,
): Promise<Found[]> {
  const folders = new Map<string, boolean>();
  for (const { name } of filesBelow(home, kind, digests)) {
    const [folder, file] = [folderOf(name), name.slice(name.lastIndexOf('/') + 1)];
    if (folder !== '' && (file === RUN || file === about)) folders.set(folder, (folders.get(folder) ?? false) || file === about);
  }
  const found = await run.each([...folders], async (each, [folder, described]): Promise<Found | undefined> => {
    const at: Located = { tree: home.tree, path: below(home.path, `${kind}/${folder}`) };
    const table = described ? await each.table({ ...at, path: `${at.path}/${about}` }, format) : undefined;
    const script = scriptOf(each, at, table, digests);
    return script && foundFile(home, nameOf(folder, table), script.path, script.sha256);
  });
  return found.filter((one) => one !== undefined);
}

/** The script that a folder runs; undefined, and told, when there is none. */
function scriptOf(
  run: Run,
  folder: Located,
  about: Table | undefined,
  digests: ReadonlyMap<string, string>,
): { path: string; sha256: string } | undefined {
  const written = about?.get('run');
  const named = about?.text('run');
  const path = named === undefined ? `${folder.path}/${RUN}` : resolvePath(run, folder, named)?.path;
  const sha256 = path === undefined ? undefined : digests.get(path);
  if (path !== undefined && sha256 !== undefined) return { path, sha256 };
  const where = written ?? { origin: { file: fileName(folder.tree, folder.path) }, at: '' };
  run.error(where, written === undefined ? `${RUN} is missing` : 'there is no such file in the folders of the city or pack');
  return undefined;
}
