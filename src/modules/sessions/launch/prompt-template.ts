import { StartError } from '../../../platform/runtime/port.js';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { blocksOf, FRAGMENT, MAX_FRAGMENT_FILES, parted } from '../../files/composition/template-blocks.js';
import { readNamedFile } from './named-file.js';
import type { Roots } from './work-dir.js';

const PLACE = /\{\{-?\s*(?:template\s+"([^"]+)"(?:\s+\.)?|\.([A-Za-z]\w*))\s*-?\}\}/g;
const MAX_DEPTH = 8;
/** Characters of a prompt. */
export const MAX_LENGTH = 1024 * 1024;
/** Blocks and variables that are filled in: blocks that include each other would multiply without end. */
const MAX_PLACES = 10_000;
const MAX_FRAGMENTS_LENGTH = 4 * 1024 * 1024;

export type Values = Readonly<Record<string, string>>;
/** Named blocks of text by their names. */
export type Fragments = ReadonlyMap<string, string>;
/** The same with those of a block around them: they are looked for from the inside out. A copy would cost all of them for each place. */
type Scope = Pick<Fragments, 'get'>;

/** What one prompt may still take up. */
class Allowance {
  #places = MAX_PLACES;
  #characters = MAX_LENGTH;

  take(characters: number): boolean {
    if (this.#places === 0 || this.#characters < characters) return false;
    this.#places--;
    this.#characters -= characters;
    return true;
  }
}

/**
 * The parts of a prompt with their variables and the blocks that they include filled in. What is neither stays as it is
 * written: a prompt may well speak about templates. So does what exceeds 10,000 places or 1 MiB of text filled in, in all
 * parts together. No part is longer than 1 MiB.
 */
export function render(parts: readonly string[], values: Values, fragments: Fragments): string[] {
  const allowance = new Allowance();
  return parts.map((text) => fill(text, values, fragments, allowance, 0).slice(0, MAX_LENGTH));
}

function fill(text: string, values: Values, fragments: Scope, allowance: Allowance, depth: number): string {
  const [rest, blocks] = parted(text);
  const own: Scope = blocks.size === 0 ? fragments : { get: (name) => blocks.get(name) ?? fragments.get(name) };
  return rest.replace(PLACE, (whole, block: string | undefined, variable: string) => {
    const found = block === undefined ? (Object.hasOwn(values, variable) ? values[variable] : undefined) : own.get(block);
    if (found === undefined || (block !== undefined && depth === MAX_DEPTH) || !allowance.take(found.length)) return whole;
    return block === undefined ? found : fill(found, values, own, allowance, depth + 1);
  });
}

/**
 * The blocks that the city and its packs have, and the text of those that an agent is given, each once.
 *
 * @throws StartError when there are more of them than are read for one prompt
 */
export async function fragmentsOf(
  { contents, workspace }: CityConfig,
  agent: AgentConfig,
  places: Roots,
): Promise<{ all: Fragments; chosen: readonly string[] }> {
  const all = new Map<string, string>();
  const files = Object.keys(contents).filter((name) => FRAGMENT.test(name));
  if (files.length > MAX_FRAGMENT_FILES)
    throw new StartError('unsupported', `there are more than ${MAX_FRAGMENT_FILES} template fragments`);
  let left = MAX_FRAGMENTS_LENGTH;
  for (const file of files) {
    const text = (await readNamedFile(file, contents, places)) ?? '';
    if ((left -= text.length) < 0)
      throw new StartError('unsupported', `the template fragments are longer than ${MAX_FRAGMENTS_LENGTH} characters together`);
    for (const [name, block] of blocksOf(text)) if (!all.has(name)) all.set(name, block);
  }
  const { global_fragments } = workspace as { global_fragments?: readonly string[] };
  const names = [global_fragments, agent.inject_fragments, agent.append_fragments].flatMap((list) => (list ?? []) as readonly string[]);
  return { all, chosen: [...new Set(names)].flatMap((name) => all.get(name) ?? []) };
}
