import { problem } from '../../../contract/problems.js';
import type { AgentConfig } from '../../files/composition/city-config.js';
import { isTable, type Document } from '../../configuration/config/documents.js';
import { uncoverIn } from '../../configuration/patches/patch-documents.js';

/** What a change says of an agent's keys; null takes one out. */
export type Changes = ReadonlyMap<string, string | number | boolean | null>;

/**
 * The place of an agent's own table in a file: the one for its rig, else the one for all rigs.
 *
 * @throws ProblemError wrong_state when the file has none: it was changed and the city does not run that yet.
 */
export function placeOf(document: Document, agent: AgentConfig): number {
  const tables = agentsOf(document);
  const find = (fits: (table: Document) => boolean): number =>
    tables.findIndex((table) => isTable(table) && table.name === agent.name && fits(table));
  const exact = find(({ dir }) => (dir ?? '') === agent.dir);
  const place = exact >= 0 ? exact : find(({ dir, scope }) => !dir && scope === 'rig');
  if (place < 0)
    throw problem('wrong_state', `agent ${agent.qualified_name} is not in ${agent.source} any more; reload the configuration first`);
  return place;
}

export function changeAgent(table: Document, changes: Changes): void {
  for (const [key, value] of changes)
    if (value === null) delete table[key];
    else table[key] = value;
}

export function changeTable(document: Document, agent: AgentConfig, changes: Changes): void {
  changeAgent(agentsOf(document)[placeOf(document, agent)]!, changes);
}

/** Takes an agent's table out of a file. */
export function dropTable(document: Document, agent: AgentConfig): void {
  const tables = agentsOf(document);
  tables.splice(placeOf(document, agent), 1);
  if (tables.length === 0) delete document.agent;
}

/** Whether a table of a file stands for this agent in all rigs. */
export function isOfAllRigs(document: Document, agent: AgentConfig): boolean {
  return agent.dir !== '' && !agentsOf(document)[placeOf(document, agent)]!.dir;
}

/**
 * Takes the changed keys out of the patches of an agent, and patches that then say nothing: a change that a patch hides
 * would change nothing. Answers whether there was anything to take.
 */
export function uncover(document: Document, agent: AgentConfig, keys: Iterable<string>): boolean {
  const given = [...keys];
  return uncoverIn(document, 'agent', agent.qualified_name, (patch) => {
    const found = given.filter((key) => Object.hasOwn(patch, key));
    for (const key of found) delete patch[key];
    return found.length > 0;
  });
}

function agentsOf({ agent }: Document): Document[] {
  return Array.isArray(agent) ? (agent as Document[]) : [];
}
