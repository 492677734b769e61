import { MCP_FILE, MCP_FORMAT } from '../formats/mcp.format.js';
import { fileName } from '../trees/file-tree.js';
import { Leaf } from '../tree.js';
import { filesBelow, foundFile, type Found } from './found.js';
import type { Home } from './home.js';
import { below, folderOf, type Run } from './run.js';
import { checkServerVariables } from './server-variables.js';

const HTTP = /^https?:\/\//i;
const VARIABLE = '{{';
const TEMPLATE = '.template.toml';
const OF_AGENT = /^[^/]+\/mcp\/([^/]+)$/;

/**
 * The MCP servers that all agents of a city or pack have: `mcp/<name>.toml`. Those of single agents, in
 * `agents/<agent>/mcp/`, are checked here, too, and found where the agent is.
 */
export async function findMcpServers(run: Run, home: Home, digests: ReadonlyMap<string, string>): Promise<Found[]> {
  const shared = filesBelow(home, 'mcp', digests).filter(({ name }) => MCP_FILE.test(name));
  const own = filesBelow(home, 'agents', digests).flatMap(({ name, path }) => {
    const file = OF_AGENT.exec(name)?.[1];
    return file !== undefined && MCP_FILE.test(file) ? [{ name: file, path }] : [];
  });
  const seen = new Map<string, string>();
  await run.each([...shared, ...own], async (each, { name, path }) => {
    const table = await each.table({ tree: home.tree, path }, MCP_FORMAT);
    const server = MCP_FILE.exec(name)![1]!;
    const written = table?.get('name');
    if (written instanceof Leaf && written.value !== server) each.error(written, `must be "${server}", the name of the file`);
    const [url, command] = [table?.get('url'), table?.get('command')];
    // In a template it may stand in a variable.
    if (url instanceof Leaf && !HTTP.test(String(url.value)) && !String(url.value).startsWith(VARIABLE))
      each.warn(url, 'agents reach http:// and https:// only');
    if (command instanceof Leaf && isLine(String(command.value))) each.warn(command, 'is one program; what follows it belongs in args');
    if (table !== undefined) checkServerVariables(each, table, name.endsWith(TEMPLATE));
  });
  for (const { name, path } of [...shared, ...own]) {
    const key = below(folderOf(path), MCP_FILE.exec(name)![1]!);
    const other = seen.get(key);
    if (other !== undefined)
      run.error({ origin: { file: fileName(home.tree, path) }, at: '' }, `${fileName(home.tree, other)} describes this server already`);
    seen.set(key, path);
  }
  return shared.map(({ name, path }) => foundFile(home, MCP_FILE.exec(name)![1]!, path, digests.get(path)!));
}

/** A path may have blanks in it; a bare name that has some is a line of shell. */
const isLine = (command: string): boolean => /^[^/{]+\s/.test(command.trim());
