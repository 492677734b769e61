import type { Format } from './format.js';
import { env, filled, key, map, oneOf, rule, table, text, texts } from './values.js';

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
  {
    description: key(text, 'What it is for.'),
    command: key(filled, 'Program that is started beside the agent.'),
    args: key(texts, 'Its arguments.'),
    env: key(env, 'Its variables; `$NAME` is one of the worker.'),
    url: key(filled, 'Address of a server that is reached, instead of `command`.'),
    type: key(oneOf('http', 'sse'), 'How it is spoken to.', 'http'),
    headers: key(map, 'Headers of the requests; `$NAME` is a variable of the worker.'),
  },
  { name: key(text.max(64).regex(SERVER, `must match ${SERVER.source}`), 'What it is called: small letters, figures and hyphens.') },
);

/** The same for a JSON Schema. */
const none = (...keys: string[]): object => ({ not: { anyOf: keys.map((each) => ({ required: [each] })) } });
const SHAPE = {
  oneOf: [
    { required: ['command'], ...none('headers', 'type') },
    { required: ['url'], ...none('args', 'env') },
  ],
};

/** `mcp/<name>.toml`: a server of tools, started beside the agent (`command`) or reached by it (`url`). */
export const MCP_FORMAT: Format = {
  schema: RULES.reduce((schema, [at, message, holds]) => rule(schema, at, message, holds), server).meta(SHAPE),
  unknown: 'error',
};
