import { folderAgent } from './agent-keys.js';
import type { Format } from './format.js';

/** `agents/<name>/agent.toml`: the folder is the name. */
export const AGENT_FORMAT: Format = { schema: folderAgent, unknown: 'warning', meaningless: ['skills', 'mcp'] };
