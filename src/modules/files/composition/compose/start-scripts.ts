import { Leaf, type Node, type Table } from '../tree.js';
import type { Agents } from './agents.js';
import type { Rig } from './rigs.js';
import { below, folderOf, resolvePath, type Run } from './run.js';

const EXEC = 'exec:';
/** Scripts that are looked for: nobody has more, and each is a folder to read. */
const LOOKED_FOR = 100;

/** Tells of scripts that are to run sessions and that are not there. One without a slash is looked for on the path of its host. */
export async function checkStartScripts(run: Run, agents: Agents, city: Table, rigs: readonly Rig[]): Promise<void> {
  const nodes = new Set<Node | undefined>([
    city.table('workspace')?.get('start_command'),
    city.table('session')?.get('provider'),
    ...[...(city.table('providers')?.entries.values() ?? [])].map((provider) =>
      'entries' in provider ? provider.get('command') : undefined,
    ),
    ...[...agents.all].map(({ table }) => table.get('start_command')),
  ]);
  const paths = rigs.flatMap(({ table }) => table.text('path') ?? []);
  const scripts = [...nodes].filter((node) => node instanceof Leaf && String(node.value).startsWith(EXEC)) as Leaf[];
  await run.each(scripts.slice(0, LOOKED_FOR), async (each, leaf) => {
    const script = String(leaf.value).slice(EXEC.length);
    const located = script.includes('/') ? resolvePath(each, { tree: each.input.tree, path: '' }, script) : undefined;
    // What lies elsewhere, or in a checkout, comes and goes without this city.
    if (located === undefined || script.startsWith('//') || isHidden(located.path) || paths.some((path) => isIn(located.path, path)))
      return;
    const folder = folderOf(located.path);
    const entries = await located.tree.list(folder).catch(() => undefined);
    if (entries?.some(({ name, kind }) => kind === 'file' && below(folder, name) === located.path) === false)
      each.warn(leaf, 'there is no such script in the city');
  });
}

/** Lists have no names of this kind. */
const isHidden = (path: string): boolean => /(^|\/)[._]/.test(path);

const isIn = (path: string, folder: string): boolean => path.startsWith(`${folder.replace(/^\.\/|\/$/g, '')}/`);
