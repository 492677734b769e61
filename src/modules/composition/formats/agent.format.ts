import { AGENT_KEYS } from './agent-keys.js';
import type { Format } from './format.js';
import { table } from './values.js';

/** `agents/<name>/agent.toml`: the folder is the name. */
export const AGENT_FORMAT: Format = { schema: table(AGENT_KEYS), unknown: 'ignore', meaningless: ['skills', 'mcp'] };
