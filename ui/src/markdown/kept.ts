import { grownPieces, piecesOf, type Piece } from './read.js';

/** So much text is kept as it was read: whoever scrolls up and down again waits for nothing. */
const MOST_CHARACTERS = 512 * 1024;

const kept = new Map<string, readonly Piece[] | undefined>();
let characters = 0;
/** What grows comes many times a second, each time a little longer. */
const growing: { text: string; pieces: readonly Piece[] }[] = [];
const MOST_GROWING = 4;

/** The pieces of a text, read once. */
export function piecesFor(text: string, grows: boolean): readonly Piece[] | undefined {
  if (grows) return growingPieces(text);
  if (kept.has(text)) return kept.get(text);
  const pieces = piecesOf(text);
  kept.set(text, pieces);
  characters += text.length;
  for (const old of kept.keys()) {
    if (characters <= MOST_CHARACTERS || old === text) break;
    kept.delete(old);
    characters -= old.length;
  }
  return pieces;
}

function growingPieces(text: string): readonly Piece[] | undefined {
  const at = growing.findIndex((one) => text.startsWith(one.text));
  const before = at < 0 ? undefined : growing.splice(at, 1)[0]!;
  if (before?.text === text) {
    growing.push(before);
    return before.pieces;
  }
  const pieces = before === undefined ? piecesOf(text) : grownPieces(before, text);
  if (pieces !== undefined) growing.push({ text, pieces });
  if (growing.length > MOST_GROWING) growing.shift();
  return pieces;
}
