import path from 'node:path';
import { StartError } from '../../../platform/runtime/port.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { checkedFiles } from '../../files/composition/compose/checked-files.js';
import { MCP_FILE, MCP_FORMAT } from '../../files/composition/formats/mcp.format.js';
import { describeIssue, errorsOf } from '../../files/composition/issue.js';
import { plain } from '../../files/composition/tree.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import { declaredEnvironment, expand } from './environment.js';
import type { Template } from './launch.js';
import { locateNamed, readNamedFile } from './named-file.js';
import { ownFiles } from './own-files.js';
import { ofPlace } from './overlays.js';
import { fill, type Values } from './variables.js';
import type { Roots } from './work-dir.js';

type Server = Readonly<Record<string, unknown>>;

interface Definition {
  readonly name: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Values;
  readonly url?: string;
  readonly type?: 'http' | 'sse';
  readonly headers?: Values;
}

export interface ServerFile {
  readonly name: string;
  /** As in `Issue.file`. */
  readonly file: string;
  readonly sha256: string;
}

/**
 * The definitions that an agent has, one a name. Those of its own folder come before those of its rig's packs, these before
 * the city's own, and these before those of the city's packs, as with everything that lies in folders.
 */
export function serverFiles(config: CityConfig, { agent, rig }: Pick<Template, 'agent' | 'rig'>): ServerFile[] {
  if (agent === undefined) return [];
  const byName = new Map<string, ServerFile>();
  for (const { name, file, sha256 } of ofPlace(config.mcp_servers, rig)) byName.set(name, { name, file, sha256 });
  for (const [file, sha256] of ownFiles(config, agent).mcp) {
    const base = file.slice(`${agent.source}/mcp/`.length);
    const name = /^[._]/.test(base) ? undefined : MCP_FILE.exec(base)?.[1];
    if (name !== undefined) byName.set(name, { name, file, sha256 });
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The servers as agents are told of them. Values of `env` and `headers` may have `$NAME` of what the host passes on, and in
 * a `.template.toml` `{{.NAME}}` of the variables that files give the session: both stay out of programs, arguments and
 * addresses, which others can see. A command with a slash counts from its file and lies in the city or in the file's pack.
 *
 * @throws StartError that names the file, and never a value
 */
export async function mcpServersOf(
  config: CityConfig,
  template: Template,
  variables: Values,
  host: Values,
  roots: Roots,
): Promise<Server[]> {
  const declared = declaredEnvironment(config, template);
  const secrets = Object.fromEntries(Object.entries(declared).map(([name, value]) => [name, expand(value, host)]));
  const servers: Server[] = [];
  for (const { file, name } of serverFiles(config, template)) {
    const definition = await definitionIn(file, name, config, roots);
    const isTemplate = file.endsWith('.template.toml');
    const open = (text: string): string => (isTemplate ? fill(text, variables, unknownIn(file)) : text);
    const closed = (values: Values = {}): { name: string; value: string }[] =>
      Object.entries(values).map(([key, value]) => {
        const expanded = expand(value, host);
        return { name: key, value: isTemplate ? fill(expanded, { ...secrets, ...variables }, unknownIn(file)) : expanded };
      });
    const { command, args = [], url } = definition;
    if (url !== undefined) servers.push({ type: definition.type ?? 'http', name, url: open(url), headers: closed(definition.headers) });
    else
      servers.push({
        name,
        command: await program(open(command!), file, roots),
        args: args.map(open),
        env: closed(definition.env),
      });
  }
  return servers;
}

/** Of the characters of a definition, which is read on the event loop. */
const MAX_LENGTH = 64 * 1024;

async function definitionIn(file: string, name: string, { contents }: CityConfig, roots: Roots): Promise<Definition> {
  const text = await readNamedFile(file, contents, roots);
  if (text === undefined) throw broken(`${file}: it is not there any more`);
  if (text.length > MAX_LENGTH) throw broken(`${file}: it has more than ${MAX_LENGTH} characters`);
  const { table, issues } = checkedFiles.check(text, file, MCP_FORMAT);
  const [error] = errorsOf(issues);
  if (error !== undefined || table === undefined) throw broken(error === undefined ? file : describeIssue(error));
  const definition = plain(table) as Definition;
  if (definition.name !== name) throw broken(`${file}: name: must be "${name}", the name of the file`);
  return definition;
}

async function program(command: string, file: string, roots: Roots): Promise<string> {
  if (!command.includes('/') || path.isAbsolute(command)) return command;
  const folder = file.slice(0, file.lastIndexOf('/'));
  const top = await locateNamed(topOf(file), roots);
  const found = await locateNamed(`${folder}/${command}`, roots);
  if (top === undefined || found === undefined || !isBelow(top, found)) throw broken(`${file}: command: there is no such file beside it`);
  return found;
}

/** The city, or the pack, that a file of `mcp/` is of. */
function topOf(file: string): string {
  const home = /^(.*?)(?:agents\/[^/]+\/)?mcp\/[^/]+$/s.exec(file)?.[1] ?? '';
  return home === '' ? '.' : `${home}.`;
}

function unknownIn(file: string): (name: string, whole: string) => string {
  return (_, whole) => {
    throw broken(`${file} has the unknown variable ${whole}`);
  };
}

function broken(why: string): StartError {
  return new StartError('unsupported', `the MCP server cannot be used: ${why}`);
}
