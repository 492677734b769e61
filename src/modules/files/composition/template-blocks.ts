const COMMENT = { open: /\{\{-?\s*\/\*/g, close: /\*\/\s*-?\}\}/g };
const DEFINED = { open: /\{\{-?\s*define\s+"([^"]+)"\s*-?\}\}/g, close: /\{\{-?\s*end\s*-?\}\}/g };
/** Files with blocks that prompts are given. */
export const FRAGMENT = /(^|[/:])template-fragments\/[^/]+\.template\.md$/;
/** What is read for every prompt: which file has a block is known only from all of them. */
export const MAX_FRAGMENT_FILES = 4_000;

/** The named blocks of a text. */
export function blocksOf(text: string): Map<string, string> {
  return parted(text)[1];
}

/** A text without its comments and blocks, and these blocks by their names. */
export function parted(text: string): [rest: string, blocks: Map<string, string>] {
  const blocks = new Map<string, string>();
  const rest = cut(cut(text, COMMENT), DEFINED, (name, block) => blocks.set(name!, block));
  return [rest, blocks];
}

/** Takes out what stands between two marks. An expression for both would look through the whole rest for each mark that is open. */
function cut(
  text: string,
  { open, close }: { readonly open: RegExp; readonly close: RegExp },
  each?: (name: string | undefined, inner: string) => void,
): string {
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    open.lastIndex = at;
    const begin = open.exec(text);
    if (begin === null) break;
    close.lastIndex = open.lastIndex;
    const end = close.exec(text);
    if (end === null) break;
    kept.push(text.slice(at, begin.index));
    each?.(begin[1], text.slice(open.lastIndex, end.index));
    at = close.lastIndex;
  }
  kept.push(text.slice(at));
  return kept.join('');
}
