/** A pattern that cannot be used; the message says why. */
export class PatternError extends Error {}

/** Characters of a pattern, and states of what it compiles to: matching takes their product with the text's length at the most. */
const LENGTH = 500;
const STATES = 2_000;
const REPEATS = 1_000;
const DEPTH = 50;

type Test = (code: number) => boolean;

/** A pattern as it is written. */
type Part =
  | { readonly kind: 'test'; readonly test: Test }
  | { readonly kind: 'assert'; readonly assert: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Part[] }
  | { readonly kind: 'repeat'; readonly part: Part; readonly least: number; readonly most: number };

/** What a state waits for: a character, an end of the text, or nothing, when it leads to others. */
interface State {
  readonly test?: Test;
  readonly assert?: 'start' | 'end';
  readonly next: number[];
}

const digit: Test = (c) => c >= 48 && c <= 57;
const word: Test = (c) => digit(c) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95;
const space: Test = (c) => c === 32 || (c >= 9 && c <= 13 && c !== 11);
const not =
  (test: Test): Test =>
  (c) =>
    !test(c);
const CLASSES: Readonly<Record<string, Test>> = { d: digit, w: word, s: space, D: not(digit), W: not(word), S: not(space) };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f' };

/**
 * A regular expression that takes linear time, whatever it is and whatever it meets: all ways through it are followed at once.
 * It has what RE2 has without flags, named classes and word boundaries: literals, `.`, classes, `\d \w \s`, groups, `|`, `* + ? {m,n}` and `^ $`.
 * Like RE2's it matches anywhere in a text.
 */
export class Pattern {
  readonly #states: State[] = [];
  readonly #start: number;
  readonly #end: number;
  #built = 0;

  /** @throws PatternError */
  constructor(source: string) {
    if (source.length > LENGTH) throw new PatternError(`is longer than ${LENGTH} characters`);
    const part = new Reader([...source]).whole();
    this.#end = this.#state({ next: [] });
    this.#start = this.#build(part, this.#end);
  }

  /** What matching a text takes at the most. */
  cost(text: string): number {
    return this.#states.length * (text.length + 1);
  }

  test(text: string): boolean {
    let at = new Set<number>();
    const codes = Array.from(text, (character) => character.codePointAt(0)!);
    for (let n = 0; n <= codes.length; n++) {
      this.#reach(this.#start, at, n === 0, n === codes.length);
      if (at.has(this.#end)) return true;
      const next = new Set<number>();
      if (n < codes.length)
        for (const id of at) {
          const { test, next: to } = this.#states[id]!;
          if (test?.(codes[n]!) === true) this.#reach(to[0]!, next, false, n + 1 === codes.length);
        }
      at = next;
    }
    return false;
  }

  #reach(from: number, into: Set<number>, atStart: boolean, atEnd: boolean): void {
    const open = [from];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (into.has(id)) continue;
      const { test, assert, next } = this.#states[id]!;
      if (assert === undefined || (assert === 'start' ? atStart : atEnd)) {
        into.add(id);
        if (test === undefined) open.push(...next);
      }
    }
  }

  #state(state: State): number {
    return this.#states.push(state) - 1;
  }

  /** Makes a part that goes on to a state, and answers the one that it begins with. */
  #build(part: Part, to: number): number {
    if (++this.#built > STATES) throw new PatternError('repeats too much');
    switch (part.kind) {
      case 'test':
        return this.#state({ test: part.test, next: [to] });
      case 'assert':
        return this.#state({ assert: part.assert, next: [to] });
      case 'sequence':
        return part.parts.reduceRight((next, each) => this.#build(each, next), to);
      case 'choice':
        return this.#state({ next: part.parts.map((each) => this.#build(each, to)) });
      case 'repeat':
        return this.#repeat(part, to);
    }
  }

  #repeat({ part, least, most }: Extract<Part, { kind: 'repeat' }>, to: number): number {
    let start = to;
    if (most === Infinity) {
      start = this.#state({ next: [to] });
      this.#states[start]!.next.push(this.#build(part, start));
    } else for (let n = least; n < most; n++) start = this.#state({ next: [to, this.#build(part, start)] });
    for (let n = 0; n < least; n++) start = this.#build(part, start);
    return start;
  }
}

/** Reads a pattern. */
class Reader {
  #at = 0;
  #depth = 0;

  constructor(private readonly source: readonly string[]) {}

  whole(): Part {
    const part = this.#choice();
    if (this.#at < this.source.length) throw new PatternError('has a ) without its (');
    return part;
  }

  #choice(): Part {
    if (++this.#depth > DEPTH) throw new PatternError(`has more than ${DEPTH} groups inside each other`);
    const parts = [this.#sequence()];
    while (this.#peek() === '|') {
      this.#at++;
      parts.push(this.#sequence());
    }
    this.#depth--;
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#peek() !== undefined && this.#peek() !== '|' && this.#peek() !== ')') {
      const part = this.#atom();
      const bounds = this.#quantifier();
      parts.push(bounds === undefined ? part : { kind: 'repeat', part, least: bounds[0], most: bounds[1] });
    }
    return { kind: 'sequence', parts };
  }

  #quantifier(): [number, number] | undefined {
    const bounds = this.#bounds();
    if (bounds === undefined) return undefined;
    // Greedy or not makes no difference to whether there is a match.
    if (this.#peek() === '?') this.#at++;
    if (['*', '+', '?'].includes(this.#peek() ?? '')) throw new PatternError('repeats a repetition');
    return bounds;
  }

  #bounds(): [number, number] | undefined {
    const sign = this.#peek();
    if (sign === '*' || sign === '+' || sign === '?') {
      this.#at++;
      return sign === '*' ? [0, Infinity] : sign === '+' ? [1, Infinity] : [0, 1];
    }
    if (sign !== '{') return undefined;
    const written = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(this.source.slice(this.#at, this.#at + 12).join(''));
    if (written === null) return undefined;
    const [all, low, open, high] = written;
    const bounds: [number, number] = [Number(low), open === undefined ? Number(low) : high === '' ? Infinity : Number(high)];
    if (bounds[0] > bounds[1] || bounds[0] > REPEATS || (bounds[1] !== Infinity && bounds[1] > REPEATS))
      throw new PatternError(`has a repetition that is not between 0 and ${REPEATS}`);
    this.#at += all.length;
    return bounds;
  }

  #atom(): Part {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group();
      case '[':
        return { kind: 'test', test: this.#class() };
      case '.':
        return { kind: 'test', test: (c) => c !== 10 };
      case '^':
        return { kind: 'assert', assert: 'start' };
      case '$':
        return { kind: 'assert', assert: 'end' };
      case '\\':
        return { kind: 'test', test: this.#escape() };
      case '*':
      case '+':
      case '?':
        throw new PatternError(`has a ${character} with nothing to repeat`);
      default:
        return { kind: 'test', test: is(character) };
    }
  }

  #group(): Part {
    if (this.#peek() === '?') {
      this.#at++;
      if (this.#next() !== ':') throw new PatternError('has a group that looks around, has a name or sets flags');
    }
    const part = this.#choice();
    if (this.#next() !== ')') throw new PatternError('has a ( without its )');
    return part;
  }

  #escape(): Test {
    const character = this.#next();
    const known = CLASSES[character];
    if (known !== undefined) return known;
    const escaped = ESCAPES[character];
    if (escaped !== undefined) return is(escaped);
    if (/[A-Za-z0-9]/.test(character)) throw new PatternError(`has \\${character}, which has no meaning here`);
    return is(character);
  }

  #class(): Test {
    const negated = this.#peek() === '^';
    if (negated) this.#at++;
    const tests: Test[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      const low = this.#member();
      if (typeof low === 'function') tests.push(low);
      else if (this.#peek() === '-' && this.source[this.#at + 1] !== undefined && this.source[this.#at + 1] !== ']') {
        this.#at++;
        const high = this.#member();
        if (typeof high === 'function' || high < low) throw new PatternError('has a class with a range that is none');
        tests.push((c) => c >= low && c <= high);
      } else tests.push((c) => c === low);
    }
    this.#at++;
    const any: Test = (c) => tests.some((test) => test(c));
    return negated ? not(any) : any;
  }

  #member(): Test | number {
    const character = this.#next();
    if (character === '[' && this.#peek() === ':') throw new PatternError('has a named class');
    if (character !== '\\') return character.codePointAt(0)!;
    const escaped = this.#next();
    const known = CLASSES[escaped];
    if (known !== undefined) return known;
    if (ESCAPES[escaped] === undefined && /[A-Za-z0-9]/.test(escaped))
      throw new PatternError(`has \\${escaped}, which has no meaning here`);
    return (ESCAPES[escaped] ?? escaped).codePointAt(0)!;
  }

  #peek(): string | undefined {
    return this.source[this.#at];
  }

  #next(): string {
    const character = this.source[this.#at++];
    if (character === undefined) throw new PatternError('ends too early');
    return character;
  }
}

function is(character: string): Test {
  const code = character.codePointAt(0)!;
  return (c) => c === code;
}
