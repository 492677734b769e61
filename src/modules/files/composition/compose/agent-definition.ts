import { AGENT_FORMAT } from '../formats/agent.format.js';
import { fileName } from '../trees/file-tree.js';
import { Leaf, Table } from '../tree.js';
import { derived } from './nodes.js';
import type { Home } from './home.js';
import { NAME } from './names.js';
import { below, folderOf, type Located, type Run, type Written } from './run.js';

/** An agent where it is defined, before it is known in which places it works. */
export interface AgentDefinition {
  readonly name: string;
  /** What the definition says, `name` included, with the patches of packs. */
  readonly table: Table;
  /** As it was written. */
  readonly written: Table;
  readonly origin: 'inline' | 'folder' | 'pack' | 'implicit';
  /** The file or folder of the definition, as in `Issue.file`. */
  readonly source: string;
  readonly pack: string;
  /** What relative paths of the definition count from. */
  readonly folder: Located;
  /** Files that are picked up by their name. */
  readonly prompt: string | undefined;
  readonly namepool: string | undefined;
  /** Where something about what it says as a whole is told. */
  readonly where: Written;
  /** Where its name is. */
  readonly named: Written;
}

/** A table of `[[agent]]`. */
export function inlineAgent(table: Table, home: Home): AgentDefinition {
  const file = table.origin.file;
  const path = home.tree.label === '' ? file : file.slice(home.tree.label.length + 1);
  const origin = home.pack === '' ? 'inline' : 'pack';
  const folder = { tree: home.tree, path: folderOf(path) };
  return {
    name: table.text('name')!,
    table,
    written: table,
    origin,
    source: file,
    pack: home.pack,
    folder,
    prompt: undefined,
    namepool: undefined,
    where: table,
    named: table.get('name')!,
  };
}

/** The prompt of a folder: the first of these that is there. */
const PROMPTS = ['prompt.template.md', 'prompt.md.tmpl', 'prompt.md'];

/** The agents of `agents/`: a folder each. */
export async function folderAgents(run: Run, home: Home, digests: ReadonlyMap<string, string>): Promise<AgentDefinition[]> {
  const entries = await run.list({ tree: home.tree, path: below(home.path, 'agents') });
  const names = entries.filter(({ kind, name }) => kind === 'directory' && !/^[._]/.test(name)).map(({ name }) => name);
  const found = await run.each(names, async (each, name): Promise<AgentDefinition | undefined> => {
    const folder: Located = { tree: home.tree, path: below(home.path, `agents/${name}`) };
    const source = fileName(home.tree, folder.path);
    const where: Written = { origin: { file: source }, at: '' };
    if (!NAME.test(name) || name.length > 128) {
      each.error(where, `the name of an agent's folder must match ${NAME.source} and have at most 128 characters`);
      return undefined;
    }
    const has = (file: string): boolean => digests.has(`${folder.path}/${file}`);
    const written = has('agent.toml') ? await each.table({ ...folder, path: `${folder.path}/agent.toml` }, AGENT_FORMAT) : undefined;
    const table = (written ?? new Table(new Map(), where.origin, '')).with(['name', derived(name)]);
    const prompt = PROMPTS.find(has);
    return {
      name,
      table,
      written: table,
      origin: home.pack === '' ? 'folder' : 'pack',
      source,
      pack: home.pack,
      folder,
      prompt: prompt === undefined ? undefined : `${folder.path}/${prompt}`,
      namepool: has('namepool.txt') ? `${folder.path}/namepool.txt` : undefined,
      where: table,
      named: where,
    };
  });
  return found.filter((one) => one !== undefined);
}

/** What an agent is defined as, in a form that is equal for the same definition only. */
export function identityOf({ table, source }: AgentDefinition): string {
  return table.at === '' ? source : `${table.origin.file}#${table.at}`;
}

/** The directory of the definition, as in `Issue.file`. */
export function sourceDir({ folder }: AgentDefinition): Leaf {
  return derived(fileName(folder.tree, folder.path === '' ? '.' : folder.path));
}
