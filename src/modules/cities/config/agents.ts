import { readText, readToml, listEntries } from './city-files.js';
import { repeated, type AgentTable, type CityFile, type PackFile } from './city-config.js';
import { InitFailure } from './failure.js';

const CODE = 'city_init_failed';
const AGENT_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
const PROMPTS = ['prompt.template.md', 'prompt.md.tmpl', 'prompt.md'] as const;

export interface AgentFacts {
  /** Qualified by the rig, if it has one. */
  readonly name: string;
  readonly base: string;
  readonly rig: string;
}

/** Finds the city's agents and checks them: names unique and well formed, each with a prompt. */
export async function validateAgents(dir: string, city: CityFile, pack: PackFile): Promise<AgentFacts[]> {
  if (pack.pack.schema >= 2 && city.agent.length > 0) {
    throw new InitFailure('city_config_failed', 'city.toml: agents belong into agents/ or pack.toml when the pack has schema 2');
  }
  const tables = [...city.agent, ...pack.agent];
  for (const table of tables) {
    requireName(table.name);
    await requirePrompt(dir, table);
  }
  const folders = (await listEntries(dir, 'agents', CODE)).filter((entry) => entry.directory).map((entry) => entry.name);
  for (const folder of folders) {
    requireName(folder);
    await requireFolderPrompt(dir, folder);
  }
  const agents = [
    ...tables.map((table) => ({ base: table.name, rig: table.dir ?? '' })),
    ...folders.map((folder) => ({ base: folder, rig: '' })),
  ].map((agent) => ({ ...agent, name: agent.rig === '' ? agent.base : `${agent.rig}/${agent.base}` }));
  const twice = repeated(agents.map((agent) => agent.name));
  if (twice !== undefined) throw new InitFailure(CODE, `two agents are named "${twice}"`);
  return agents;
}

function requireName(name: string): void {
  if (!AGENT_NAME.test(name)) throw new InitFailure(CODE, `agent name "${name}" must match ${AGENT_NAME.source}`);
}

async function requirePrompt(dir: string, agent: AgentTable): Promise<void> {
  if (agent.prompt_template === undefined) throw new InitFailure(CODE, `agent "${agent.name}" has no prompt_template`);
  await requireText(dir, agent.prompt_template, agent.name);
}

async function requireFolderPrompt(dir: string, name: string): Promise<void> {
  const folder = `agents/${name}`;
  const own = await readToml(dir, `${folder}/agent.toml`, CODE);
  if (typeof own?.prompt_template === 'string') return requireText(dir, `${folder}/${own.prompt_template}`, name);
  for (const file of PROMPTS) {
    const text = await readText(dir, `${folder}/${file}`, CODE);
    if (text === undefined) continue;
    if (text.trim() === '') throw new InitFailure(CODE, `agent "${name}": ${file} is empty`);
    return;
  }
  throw new InitFailure(CODE, `agent "${name}" has no prompt: ${folder}/${PROMPTS[0]} is missing`);
}

async function requireText(dir: string, relative: string, name: string): Promise<void> {
  const text = await readText(dir, relative, CODE);
  if (text === undefined) throw new InitFailure(CODE, `agent "${name}": ${relative} is missing`);
  if (text.trim() === '') throw new InitFailure(CODE, `agent "${name}": ${relative} is empty`);
}
