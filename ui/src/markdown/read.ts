import { Lexer, type Token, type Tokens } from 'marked';
import { linkOf } from './links.js';

/** What a text of somebody else may become. There is no kind for HTML: what looks like it is a text. */
export type Inline =
  | string
  | { readonly kind: 'strong' | 'em' | 'del'; readonly parts: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'link'; readonly href: string; readonly host: string | undefined; readonly parts: readonly Inline[] }
  | { readonly kind: 'break' };
export type Block =
  | { readonly kind: 'paragraph' | 'plain'; readonly parts: readonly Inline[] }
  | { readonly kind: 'heading'; readonly depth: number; readonly parts: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string; readonly lang: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | undefined; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly head: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly kind: 'rule' };
type Cell = readonly Inline[];

/** A block of a text with the characters that it was made of; spaces between blocks have none. */
export interface Piece {
  readonly raw: string;
  readonly block: Block | undefined;
}

/** Longer texts are shown as they were written: what reads them takes 10 ms for 16 KB. */
const LONGEST = 32 * 1024;
/** In one paragraph. Each pair may be a level of nesting, and each level is read anew. */
const MOST_DELIMITERS = 200;
const DELIMITERS = /[*_~[\]`<!]/g;
const MOST_TOKENS = 4_000;
/** A line that begins as the twentieth level of quotes and lists, or so far to the right: each level is a call that has not returned. */
const NESTED = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){20}|^[ \t]{40,}(?:[-*+]|\d{1,9}[.)])[ \t]/m;

/** The blocks of a text; undefined where it is better shown as it was written. */
export function piecesOf(text: string): readonly Piece[] | undefined {
  if (text.length > LONGEST || NESTED.test(text)) return undefined;
  try {
    const lexer = new Lexer();
    lexer.blockTokens(text, lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue) {
      lexer.state.inRawBlock = false;
      if ((src.match(DELIMITERS)?.length ?? 0) > MOST_DELIMITERS) tokens.push({ type: 'text', raw: src, text: src });
      else lexer.inlineTokens(src, tokens);
    }
    return countOf(lexer.tokens) > MOST_TOKENS ? undefined : lexer.tokens.map((token) => ({ raw: token.raw, block: blockOf(token) }));
  } catch {
    return undefined;
  }
}

/**
 * The same of a text that has grown at its end: only its last block is read again, the others stay the objects that they were. What comes
 * may change what was read of a block before that; whoever has the whole text reads it as a whole.
 */
export function grownPieces(
  before: { readonly text: string; readonly pieces: readonly Piece[] },
  text: string,
): readonly Piece[] | undefined {
  const last = before.pieces.findLastIndex(({ block }) => block !== undefined);
  if (last < 1 || text.length > LONGEST || !text.startsWith(before.text)) return piecesOf(text);
  const kept = before.pieces.slice(0, last);
  const read = kept.map(({ raw }) => raw).join('');
  const rest = text.startsWith(read) ? piecesOf(text.slice(read.length)) : undefined;
  return rest === undefined ? piecesOf(text) : [...kept, ...rest];
}

function countOf(tokens: readonly Token[]): number {
  let count = 0;
  for (const token of tokens) {
    count++;
    if (token.type === 'list') for (const item of (token as Tokens.List).items) count += 1 + countOf(item.tokens);
    else if (token.type === 'table') {
      const { header, rows } = token as Tokens.Table;
      for (const cell of [header, ...rows].flat()) count += 1 + countOf(cell.tokens);
    } else if ('tokens' in token && token.tokens !== undefined) count += countOf(token.tokens);
  }
  return count;
}

function blocksOf(tokens: readonly Token[]): Block[] {
  const blocks: Block[] = [];
  for (const token of tokens) {
    const block = blockOf(token);
    const before = blocks.at(-1);
    // The box of a task and its words are one line.
    if (block?.kind === 'plain' && before?.kind === 'plain')
      blocks[blocks.length - 1] = { kind: 'plain', parts: [...before.parts, ...block.parts] };
    else if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

function blockOf(token: Token): Block | undefined {
  switch (token.type) {
    case 'space':
      return undefined;
    case 'paragraph':
      return { kind: 'paragraph', parts: inlineOf((token as Tokens.Paragraph).tokens) };
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading;
      return { kind: 'heading', depth, parts: inlineOf(tokens) };
    }
    case 'code': {
      const { text, lang = '' } = token as Tokens.Code;
      return { kind: 'code', text, lang };
    }
    case 'blockquote':
      return { kind: 'quote', blocks: blocksOf((token as Tokens.Blockquote).tokens) };
    case 'list': {
      const { ordered, start, items } = token as Tokens.List;
      return { kind: 'list', start: ordered ? Number(start) : undefined, items: items.map((item) => blocksOf(item.tokens)) };
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      const cells = (row: readonly Tokens.TableCell[]): Cell[] => row.map((cell) => inlineOf(cell.tokens));
      return { kind: 'table', head: cells(header), rows: rows.map(cells) };
    }
    case 'hr':
      return { kind: 'rule' };
    case 'text':
    case 'checkbox':
      return { kind: 'plain', parts: inlineOf([token]) };
    default:
      // HTML, and definitions, which would say something that nobody sees.
      return { kind: 'paragraph', parts: [withoutLastLines(token.raw)] };
  }
}

/** Without ends of lines at its end, found from there: a pattern would look at what follows each of them, in a long text for a second. */
function withoutLastLines(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\n') end--;
  return text.slice(0, end);
}

function inlineOf(tokens: readonly Token[]): Inline[] {
  const parts: Inline[] = [];
  for (const part of tokens.flatMap(partsOf)) {
    const before = parts.at(-1);
    if (typeof part === 'string' && typeof before === 'string') parts[parts.length - 1] = before + part;
    else parts.push(part);
  }
  return parts;
}

function partsOf(token: Token): Inline[] {
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return [{ kind: token.type, parts: inlineOf((token as Tokens.Strong).tokens) }];
    case 'codespan':
      return [{ kind: 'code', text: (token as Tokens.Codespan).text }];
    case 'br':
      return [{ kind: 'break' }];
    case 'checkbox':
      return [(token as Tokens.Checkbox).checked ? '☑ ' : '☐ '];
    case 'image':
    case 'link': {
      const { href, text, tokens } = token as Tokens.Link;
      const parts = token.type === 'image' ? [`Image: ${text}`] : inlineOf(tokens);
      const link = linkOf(href, wordsOf(parts));
      // What leads nowhere from here is still what somebody has written.
      return link === undefined ? [token.raw] : [{ kind: 'link', ...link, parts: parts.length === 0 ? [href] : parts }];
    }
    case 'text':
    case 'escape': {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? [text] : inlineOf(tokens);
    }
    default:
      return [token.raw];
  }
}

/** The words of parts, without what they are made of. */
const wordsOf = (parts: readonly Inline[]): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      return part.kind === 'break' ? '\n' : part.kind === 'code' ? part.text : wordsOf(part.parts);
    })
    .join('');
