/** Levels of lists and objects in a message. What writes and measures messages calls itself for each, some thousand times at the most. */
export const MAX_DEPTH = 1_000;
/** Lists, objects and commas. Texts have none, however long they are; a line of nothing else would keep the process busy for seconds, and take gigabytes. */
export const MAX_MEMBERS = 50_000;
/** About how many bytes each of them takes beside its text. */
export const MEMBER_BYTES = 32;
/** Members of the message itself: the protocol has four. */
const MAX_OWN = 100;
/** Where lists and objects among them begin and end. Without commas between them there may be millions in a line, which is no message then. */
const MAX_ENDS = 2 * (MAX_OWN + 1);

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const NOTHING = Buffer.from('null');

/** How much is in a message, told from its bytes: what would be too much is not read at all. */
export interface Measure {
  readonly depth: number;
  readonly members: number;
  /** The message with `null` for each list and object in it; undefined where there are too many of its own. */
  readonly head: () => string | undefined;
}

export function measured(line: Buffer): Measure {
  let [level, depth, members, own] = [0, 0, 0, 0];
  /** Where lists and objects of the message itself begin and end, in turn. */
  const inner: number[] = [];
  for (let at = 0; at < line.length; at++) {
    switch (line[at]) {
      case QUOTE:
        at = endOfText(line, at + 1);
        break;
      case COMMA:
        members++;
        if (level === 1) own++;
        break;
      case LIST:
      case OBJECT:
        members++;
        if (level++ === 1 && inner.length <= MAX_ENDS) inner.push(at);
        if (level > depth) depth = level;
        break;
      case LIST_END:
      case OBJECT_END:
        if (--level === 1 && inner.length <= MAX_ENDS) inner.push(at + 1);
        break;
      default:
    }
  }
  return { depth, members, head: () => (own > MAX_OWN || inner.length > MAX_ENDS ? undefined : without(line, inner)) };
}

/** Where the quote is that ends a text. */
function endOfText(line: Buffer, from: number): number {
  let at = from;
  while (at < line.length && line[at] !== QUOTE) at += line[at] === BACKSLASH ? 2 : 1;
  return at;
}

function without(line: Buffer, inner: readonly number[]): string {
  const parts: Buffer[] = [];
  let from = 0;
  for (let n = 0; n + 1 < inner.length; n += 2) {
    parts.push(line.subarray(from, inner[n]), NOTHING);
    from = inner[n + 1]!;
  }
  return Buffer.concat([...parts, line.subarray(from)]).toString('utf8');
}
