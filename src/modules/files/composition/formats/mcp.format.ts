import type { Format } from './format.js';
import { env, filled, map, oneOf, rule, table, text, texts } from './values.js';

/** `<name>.toml`, or `<name>.template.toml` for one whose values have variables. */
export const MCP_FILE = /^([^/]+?)(\.template)?\.toml$/;
/** Names of servers, as agents use them in the names of tools. */
const SERVER = /^[a-z0-9-]+$/;

type Members = Readonly<Record<string, unknown>>;

const has = (members: Members, key: string): boolean => members[key] !== undefined;

const RULES: readonly (readonly [key: string, message: string, holds: (members: Members) => boolean])[] = [
  ['command', 'either command or url is required', (it) => has(it, 'command') || has(it, 'url')],
  ['url', 'command and url exclude each other', (it) => !has(it, 'command') || !has(it, 'url')],
  ['args', 'is for servers with command only', (it) => !has(it, 'args') || !has(it, 'url')],
  ['env', 'is for servers with command only', (it) => !has(it, 'env') || !has(it, 'url')],
  ['headers', 'is for servers with url only', (it) => !has(it, 'headers') || !has(it, 'command')],
  ['type', 'is for servers with url only', (it) => !has(it, 'type') || !has(it, 'command')],
];

const server = table(
  { description: text, command: filled, args: texts, env, url: filled, type: oneOf('http', 'sse'), headers: map },
  { name: text.max(64).regex(SERVER, `must match ${SERVER.source}`) },
);

/** `mcp/<name>.toml`: a server of tools, started beside the agent (`command`) or reached by it (`url`). */
export const MCP_FORMAT: Format = {
  schema: RULES.reduce((schema, [key, message, holds]) => rule(schema, key, message, holds), server),
  unknown: 'error',
};
