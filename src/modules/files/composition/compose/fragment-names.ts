import { blocksOf, FRAGMENT, MAX_FRAGMENT_FILES } from '../template-blocks.js';
import type { Table } from '../tree.js';
import type { Agents } from './agents.js';
import type { Digests } from './contents.js';
import { leaves } from './placeholders.js';
import type { Run } from './run.js';

/** Tells of texts that prompts are to be given and that no file has: an agent would start without them, and nobody would know. */
export async function checkFragments(run: Run, agents: Agents, workspace: Table, parts: readonly Digests[]): Promise<void> {
  // Agents share what defaults give them.
  const asked = new Set([
    ...leaves(workspace.get('global_fragments')),
    ...[...agents.all].flatMap(({ table }) => [...leaves(table.get('inject_fragments')), ...leaves(table.get('append_fragments'))]),
  ]);
  if (asked.size === 0) return;
  const files = parts.flatMap(({ tree, digests }) =>
    [...digests.keys()].filter((path) => FRAGMENT.test(path)).map((path) => ({ tree, path })),
  );
  // No session starts with so many, and says so.
  if (files.length > MAX_FRAGMENT_FILES) return;
  const texts = await run.each(files, (each, file) => each.text(file, 'warning'));
  // Whatever one has that cannot be read.
  if (texts.includes(undefined)) return;
  const known = new Set(texts.flatMap((text) => [...blocksOf(text!).keys()]));
  const names = [...known];
  for (const leaf of asked) {
    const name = String(leaf.value);
    if (!known.has(name)) run.warn(leaf, `no {{define}} of template-fragments/ has "${name}"${run.suggestions.of(name, names)}`);
  }
}
