import { problem } from '../../../contract/problems.js';
import type { AgentConfig } from '../../files/composition/city-config.js';
import { CITY_FILE, filesOf } from '../../configuration/config/documents.js';
import type { Draft } from '../../configuration/config/draft.js';
import { hasPatch, putPatch } from '../../configuration/patches/patch-documents.js';
import { uncover, type Changes } from './agent-documents.js';

/**
 * Writes changes of an agent that other files define into the city's patch of it, where that is already, else into the
 * city's own file. Its other keys stay.
 *
 * @throws ProblemError wrong_state for a key that no patch of the city has: what a pack says can be replaced, not taken out
 */
export async function patchAgent(draft: Draft, agent: AgentConfig, changes: Changes): Promise<void> {
  const { qualified_name: target, dir } = agent;
  const holding: string[] = [];
  const removed = new Set([...changes].flatMap(([key, value]) => (value === null ? [key] : [])));
  const kept = new Set<string>();
  for (const file of filesOf(await draft.document(CITY_FILE))) {
    const document = await draft.document(file);
    if (!hasPatch(document, 'agent', target)) continue;
    for (const key of removed) if (uncover(document, agent, [key])) kept.add(key);
    if (kept.size > 0) await draft.put(file, document);
    if (hasPatch(document, 'agent', target)) holding.push(file);
  }
  const missing = [...removed].filter((key) => !kept.has(key));
  if (missing.length > 0)
    throw problem(
      'wrong_state',
      `no patch of the city says ${missing.join(', ')} of agent ${target}: what its pack says can only be replaced`,
    );
  const set = Object.fromEntries([...changes].filter(([, value]) => value !== null));
  if (Object.keys(set).length === 0) return;
  const identity = dir === '' ? { name: target } : { dir, name: target.slice(dir.length + 1) };
  await draft.edit(holding.at(-1) ?? CITY_FILE, (document) => putPatch(document, 'agent', identity, set));
}
