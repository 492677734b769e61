import { align } from './align.js';
import { isTable, isTables, same, type TomlTable } from './equal.js';
import { blank, layoutOf, leading, lineEnd, lineStart, type Block, type Entry, type Path } from './layout.js';
import { changePair, renderPair, renderSection } from './render.js';

/** Of what is inserted at one place, pairs come before headers, below which they would mean something else. */
const PAIR = 0;
const SECTION = 1;

interface Cut {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly rank: number;
}

/** Changes of a text, collected place by place; what is not touched stays as it is, to the byte. */
export class Surgery {
  readonly #blocks: readonly Block[];
  /** Blocks at or below a path, and pairs at or below it that stand in blocks of its surroundings; both in the order of the text. */
  readonly #blocksBelow: ReadonlyMap<string, Block[]>;
  readonly #entriesBelow: ReadonlyMap<string, Entry[]>;
  readonly #cuts: Cut[] = [];

  /** @throws SyntaxError */
  constructor(private readonly text: string) {
    this.#blocks = layoutOf(text);
    this.#blocksBelow = byPrefix(this.#blocks.slice(1), () => 0);
    const entries = this.#blocks.flatMap((block) => block.entries);
    this.#entriesBelow = byPrefix(entries, ({ path, own }) => path.length - own + 1);
  }

  /** The text with everything done to it; undefined when changes got in each other's way. */
  result(): string | undefined {
    const eol = this.text.includes('\r\n') ? '\r\n' : '\n';
    const cuts = this.#cuts
      .map((cut, n) => ({ ...cut, n }))
      .sort((a, b) => a.start - b.start || a.end - b.end || a.rank - b.rank || a.n - b.n);
    // Parts, because asking a long text that was just put together for its end costs as much as the text.
    const parts: string[] = [];
    const write = (part: string): void => void (part === '' || parts.push(part));
    let at = 0;
    for (const { start, end, text } of cuts) {
      const within = start < at;
      if (within && start !== end && text !== '') return undefined;
      if (!within) write(this.text.slice(at, start));
      // What is inserted are whole lines, also behind a last line without an end.
      if (text.endsWith('\n') && parts.at(-1)?.endsWith('\n') === false) write(eol);
      write(text.replaceAll('\n', eol));
      at = Math.max(at, end);
    }
    write(this.text.slice(at));
    return parts.join('');
  }

  change(path: Path, present: TomlTable, desired: TomlTable): void {
    for (const key of Object.keys(present)) if (desired[key] === undefined) this.remove([...path, key]);
    for (const [key, value] of Object.entries(desired)) {
      if (!Object.hasOwn(present, key)) this.add(path, key, value);
      else if (!same(present[key], value)) this.#replace(path, key, present[key], value);
    }
  }

  #replace(path: Path, key: string, present: unknown, desired: unknown): void {
    const at = [...path, key];
    const entry = this.#entries(at).find(({ path: written }) => written.length === at.length);
    if (entry !== undefined) this.#rewrite(entry, desired);
    else if (isTable(present) && isTable(desired)) this.change(at, present, desired);
    else if (isTables(present) && isTables(desired)) this.#changeList(at, present, desired);
    else {
      this.remove(at);
      this.add(path, key, desired);
    }
  }

  #rewrite({ path, own, range: [start, end] }: Entry, value: unknown): void {
    this.#cut(start, end, changePair(this.text.slice(start, end), path.slice(-own), value));
  }

  #changeList(path: Path, present: readonly TomlTable[], desired: readonly TomlTable[]): void {
    const from = align(present, desired);
    const kept = new Set(from);
    present.forEach((_, n) => {
      if (!kept.has(n)) this.remove([...path, n]);
    });
    let before: number | undefined;
    desired.forEach((table, n) => {
      const old = from[n];
      if (old === undefined) {
        const place = before === undefined ? this.#below([...path, 0])[0]!.lead : this.#below([...path, before]).at(-1)!.end;
        return this.#section(place, path, [table]);
      }
      this.change([...path, old], present[old]!, table);
      before = old;
    });
  }

  /** Takes away everything that is written at or below a path. */
  remove(path: Path): void {
    for (const { lead, end } of this.#below(path)) this.#cut(lead, blank(this.text, end), '');
    for (const { range } of this.#entries(path)) {
      const line = lineStart(this.text, range[0]);
      this.#cut(leading(this.text, line), lineEnd(this.text, range[1]), '');
    }
  }

  /** Writes a key that a table does not have. */
  add(path: Path, key: string, value: unknown): void {
    const at = [...path, key];
    const below = this.#below(path);
    const header = path.length === 0 ? this.#blocks[0] : below.find((block) => block.path.length === path.length);
    const dotted = header === undefined ? this.#entries(path).at(-1) : undefined;
    if (dotted !== undefined) {
      const table = dotted.path.length - dotted.own;
      return this.#cut(...this.#after(dotted), `${renderPair(at.slice(table), value)}\n`);
    }
    if (isTable(value) || isTables(value)) return this.#section(path.length === 0 ? this.text.length : below.at(-1)!.end, at, value);
    if (header === undefined) return this.#section(below[0]!.lead, path, { [key]: value });
    const last = header.entries.at(-1);
    if (last !== undefined) return this.#cut(...this.#after(last), `${renderPair([key], value)}\n`);
    if (path.length > 0) return this.#cut(header.body, header.body, `${renderPair([key], value)}\n`);
    const first = this.#blocks[1];
    const place = first === undefined ? this.text.length : first.lead;
    this.#cut(place, place, `${renderPair([key], value)}\n${first === undefined ? '' : '\n'}`);
  }

  #section(place: number, path: Path, value: unknown): void {
    const before = this.text.slice(Math.max(0, place - 200), place);
    const gap = before === '' || /\n[ \t\r]*\n$/.test(before) ? '' : '\n';
    const after = place < this.text.length && !/^[ \t]*\r?\n/.test(this.text.slice(place)) ? '\n' : '';
    this.#cut(place, place, `${gap}${renderSection(path, value).trimEnd()}\n${after}`, SECTION);
  }

  #after({ range }: Entry): [start: number, end: number] {
    const end = lineEnd(this.text, range[1]);
    return [end, end];
  }

  #below(path: Path): readonly Block[] {
    return this.#blocksBelow.get(JSON.stringify(path)) ?? [];
  }

  #entries(path: Path): readonly Entry[] {
    return this.#entriesBelow.get(JSON.stringify(path)) ?? [];
  }

  #cut(start: number, end: number, text: string, rank = PAIR): void {
    this.#cuts.push({ start, end, text, rank });
  }
}

/** Items under every beginning of their paths, from a length on. */
function byPrefix<T extends { readonly path: Path }>(items: readonly T[], shortest: (item: T) => number): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of items)
    for (let length = shortest(item); length <= item.path.length; length++) {
      const key = JSON.stringify(item.path.slice(0, length));
      const known = found.get(key);
      if (known === undefined) found.set(key, [item]);
      else known.push(item);
    }
  return found;
}
