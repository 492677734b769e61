import type { AgentConfig, CityConfig } from '../composition/city-config.js';
import { readNamedFile } from './named-file.js';
import type { Places } from './work-dir.js';

const COMMENT = /\{\{-?\s*\/\*[\s\S]*?\*\/\s*-?\}\}/g;
const DEFINED = /\{\{-?\s*define\s+"([^"]+)"\s*-?\}\}([\s\S]*?)\{\{-?\s*end\s*-?\}\}/g;
const INCLUDED = /\{\{-?\s*template\s+"([^"]+)"(?:\s+\.)?\s*-?\}\}/g;
const VARIABLE = /\{\{-?\s*\.([A-Za-z]\w*)\s*-?\}\}/g;
const MAX_DEPTH = 8;
const MAX_LENGTH = 1024 * 1024;
const FRAGMENT = /(^|[/:])template-fragments\/[^/]+\.template\.md$/;

export type Values = Readonly<Record<string, string>>;
/** Named blocks of text by their names. */
export type Fragments = ReadonlyMap<string, string>;

/**
 * A prompt with its variables and the blocks that it includes filled in. What is neither stays as it is written: a prompt
 * may well speak about templates.
 */
export function render(text: string, values: Values, fragments: Fragments, depth = 0): string {
  const own = new Map([...fragments, ...blocksOf(text)]);
  const rest = text.replace(COMMENT, '').replace(DEFINED, '');
  const filled = rest.replace(INCLUDED, (whole, name: string) => {
    const block = own.get(name);
    return block === undefined || depth === MAX_DEPTH ? whole : render(block, values, own, depth + 1);
  });
  const done = filled.replace(VARIABLE, (whole, name: string) => (Object.hasOwn(values, name) ? values[name]! : whole));
  return done.slice(0, MAX_LENGTH);
}

export function blocksOf(text: string): Map<string, string> {
  return new Map([...text.replace(COMMENT, '').matchAll(DEFINED)].map(([, name, block]) => [name!, block!]));
}

/** The blocks that the city and its packs have, and the text of those that an agent is given, each once. */
export async function fragmentsOf(
  { contents, workspace }: CityConfig,
  agent: AgentConfig,
  places: Pick<Places, 'cityPath' | 'citiesRoot'>,
): Promise<{ all: Fragments; chosen: readonly string[] }> {
  const all = new Map<string, string>();
  for (const file of Object.keys(contents).filter((name) => FRAGMENT.test(name)))
    for (const [name, block] of blocksOf((await readNamedFile(file, contents, places)) ?? '')) if (!all.has(name)) all.set(name, block);
  const { global_fragments } = workspace as { global_fragments?: readonly string[] };
  const names = [global_fragments, agent.inject_fragments, agent.append_fragments].flatMap((list) => (list ?? []) as readonly string[]);
  return { all, chosen: [...new Set(names)].flatMap((name) => all.get(name) ?? []) };
}
