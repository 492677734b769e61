import { align } from './align.js';
import { isTable, isTables, same, type TomlTable } from './equal.js';
import { blank, layoutOf, leading, lineEnd, lineStart, startsWith, type Block, type Entry, type Path } from './layout.js';
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
  readonly #cuts: Cut[] = [];

  /** @throws SyntaxError */
  constructor(private readonly text: string) {
    this.#blocks = layoutOf(text);
  }

  /** The text with everything done to it; undefined when changes got in each other's way. */
  result(): string | undefined {
    const eol = this.text.includes('\r\n') ? '\r\n' : '\n';
    const cuts = this.#cuts
      .map((cut, n) => ({ ...cut, n }))
      .sort((a, b) => a.start - b.start || a.end - b.end || a.rank - b.rank || a.n - b.n);
    let result = '';
    let at = 0;
    for (const { start, end, text } of cuts) {
      const within = start < at;
      if (within && start !== end && text !== '') return undefined;
      if (!within) result += this.text.slice(at, start);
      // What is inserted are whole lines, also behind a last line without an end.
      if (text.endsWith('\n') && result !== '' && !result.endsWith('\n')) result += eol;
      result += text.replaceAll('\n', eol);
      at = Math.max(at, end);
    }
    return result + this.text.slice(at);
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
    const header =
      path.length === 0 ? this.#blocks[0] : this.#blocks.find((block) => block.path.length === path.length && startsWith(block.path, path));
    const dotted = header === undefined ? this.#entries(path).at(-1) : undefined;
    if (dotted !== undefined) {
      const table = dotted.path.length - dotted.own;
      return this.#cut(...this.#after(dotted), `${renderPair(at.slice(table), value)}\n`);
    }
    const below = this.#below(path);
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
    const before = this.text.slice(0, place);
    const gap = before === '' || /\n[ \t\r]*\n$/.test(before) ? '' : '\n';
    const after = place < this.text.length && !/^[ \t]*\r?\n/.test(this.text.slice(place)) ? '\n' : '';
    this.#cut(place, place, `${gap}${renderSection(path, value).trimEnd()}\n${after}`, SECTION);
  }

  #after({ range }: Entry): [start: number, end: number] {
    const end = lineEnd(this.text, range[1]);
    return [end, end];
  }

  /** Blocks at or below a path. */
  #below(path: Path): Block[] {
    return this.#blocks.slice(1).filter((block) => startsWith(block.path, path));
  }

  /** Pairs at or below a path that stand in blocks of their surroundings. */
  #entries(path: Path): Entry[] {
    return this.#blocks
      .filter((block) => block.path.length < path.length && startsWith(path, block.path))
      .flatMap((block) => block.entries.filter((entry) => startsWith(entry.path, path)));
  }

  #cut(start: number, end: number, text: string, rank = PAIR): void {
    this.#cuts.push({ start, end, text, rank });
  }
}
