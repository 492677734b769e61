import type { Schemas } from '../api/types.js';

/** A line of a change: what is gone, what is new, and what stands around them. `gap` is where lines were left out. */
export interface DiffLine {
  readonly sign: '-' | '+' | ' ' | 'gap';
  readonly text: string;
}

const AROUND = 3;
/** Cells of the table that finds what two texts have in common; beyond them all of the old stands before all of the new. */
const MOST_CELLS = 250_000;

/** What a tool has changed, where it says so: its own parts of it, or what two texts differ in. */
export function changeOf(structured: Schemas['SessionStructuredToolResult'] | undefined): readonly DiffLine[] | undefined {
  if (structured?.kind !== 'edit') return undefined;
  const { patch_hunks: hunks, old_string: before, new_string: after } = structured;
  if (hunks === undefined || hunks === null || hunks.length === 0)
    return before === undefined && after === undefined ? undefined : diffOf(before ?? '', after ?? '');
  return hunks.flatMap(({ lines }, i): DiffLine[] => [
    ...(i === 0 ? [] : [{ sign: 'gap' as const, text: '' }]),
    ...(lines ?? []).map((line): DiffLine => {
      const sign = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
      return { sign, text: line.slice(1) };
    }),
  ]);
}

/** What one text has that the other has not, line by line. */
export function diffOf(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let begin = 0;
  while (begin < old.length && begin < now.length && old[begin] === now[begin]) begin++;
  let end = 0;
  while (end < old.length - begin && end < now.length - begin && old.at(-1 - end) === now.at(-1 - end)) end++;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }));
  const all = [
    ...same(old.slice(0, begin)),
    ...middle(old.slice(begin, old.length - end), now.slice(begin, now.length - end)),
    ...same(old.slice(old.length - end)),
  ];
  return withoutFar(all);
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

function middle(old: readonly string[], now: readonly string[]): DiffLine[] {
  const gone = old.map((text): DiffLine => ({ sign: '-', text }));
  const added = now.map((text): DiffLine => ({ sign: '+', text }));
  if (old.length === 0 || now.length === 0 || old.length * now.length > MOST_CELLS) return [...gone, ...added];
  const width = now.length + 1;
  /** How many lines the rest of one and the rest of the other have in common. */
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] =
        old[i] === now[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i]! });
      i++;
      j++;
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) lines.push(gone[i++]!);
    else lines.push(added[j++]!);
  }
  return [...lines, ...gone.slice(i), ...added.slice(j)];
}

/** Of what has not changed only what is near. */
function withoutFar(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Uint8Array(lines.length);
  for (const [i, { sign }] of lines.entries()) if (sign !== ' ') near.fill(1, Math.max(0, i - AROUND), i + AROUND + 1);
  const shown: DiffLine[] = [];
  for (const [i, line] of lines.entries())
    if (near[i] === 1) shown.push(line);
    else if (shown.at(-1)?.sign !== 'gap') shown.push({ sign: 'gap', text: '' });
  return shown;
}

/** Lines of one sign that follow one another, drawn as one. */
export interface DiffPart {
  readonly sign: DiffLine['sign'];
  readonly lines: readonly string[];
}

/** So many lines are drawn one by one. Of more each would cost a browser what a whole text does: hundreds of thousands, seconds. */
const MOST_ALONE = 200;

/** A change as it is drawn, with nothing left out. */
export function partsOf(lines: readonly DiffLine[]): readonly DiffPart[] {
  const parts: { sign: DiffLine['sign']; lines: string[] }[] = [];
  for (const { sign, text } of lines) {
    const last = parts.at(-1);
    if (lines.length > MOST_ALONE && last?.sign === sign) last.lines.push(text);
    else parts.push({ sign, lines: [text] });
  }
  return parts;
}
