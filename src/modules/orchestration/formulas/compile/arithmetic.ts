import { LIMITS } from './limits.js';

/** A range that cannot be worked out; the message says why. */
export class RangeFault extends Error {}

const LARGEST = 1_000_000_000;
const DEPTH = 50;
const TOKEN = /\s*(?:(\d+)|([-+*/^()]))/y;

/** The numbers of `start..end`, both included. @throws RangeFault */
export function rangeOf(written: string): { start: number; end: number } {
  const parts = written.split('..');
  if (parts.length !== 2) throw new RangeFault('must be start..end');
  const [start, end] = parts.map((part) => new Reader(part).value()) as [number, number];
  if (end < start) throw new RangeFault(`ends at ${end}, before it starts at ${start}`);
  return { start, end };
}

/** Whole numbers with `+ - * / ^`, brackets and a sign; a quotient is cut at its point. */
class Reader {
  readonly #tokens: string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > LIMITS.expression) throw new RangeFault(`is longer than ${LIMITS.expression} characters`);
    this.#tokens = tokensOf(text);
  }

  value(): number {
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw new RangeFault(`has "${this.#tokens[this.#at]!}" where it should end`);
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (let sign = this.#take('+', '-'); sign !== undefined; sign = this.#take('+', '-'))
      value = bounded(sign === '+' ? value + this.#product() : value - this.#product());
    return value;
  }

  #product(): number {
    let value = this.#signed();
    for (let sign = this.#take('*', '/'); sign !== undefined; sign = this.#take('*', '/')) {
      const other = this.#signed();
      if (sign === '/' && other === 0) throw new RangeFault('divides by 0');
      value = bounded(sign === '*' ? value * other : Math.trunc(value / other));
    }
    return value;
  }

  #signed(): number {
    return this.#within(() => (this.#take('-') === undefined ? this.#power() : 0 - this.#signed()));
  }

  #power(): number {
    const base = this.#operand();
    if (this.#take('^') === undefined) return base;
    const exponent = this.#signed();
    if (exponent < 0) throw new RangeFault('has a power that is negative');
    return bounded(base ** exponent);
  }

  #operand(): number {
    if (this.#take('(') !== undefined) {
      const value = this.#within(() => this.#sum());
      if (this.#take(')') === undefined) throw new RangeFault('has a ( without its )');
      return value;
    }
    const token = this.#tokens[this.#at];
    if (token === undefined || !/^\d/.test(token)) throw new RangeFault('lacks a number');
    this.#at++;
    return bounded(Number(token));
  }

  #within(work: () => number): number {
    if (++this.#depth > DEPTH) throw new RangeFault(`has more than ${DEPTH} brackets inside each other`);
    const value = work();
    this.#depth--;
    return value;
  }

  #take(...signs: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || !signs.includes(token)) return undefined;
    this.#at++;
    return token;
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const written = text.trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < written.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(written);
    if (found === null) throw new RangeFault(`has "${written.slice(at, at + 20).trim()}", which is no number or sign`);
    tokens.push((found[1] ?? found[2])!);
  }
  return tokens;
}

function bounded(value: number): number {
  if (!(Math.abs(value) <= LARGEST)) throw new RangeFault(`has a number beyond ${LARGEST}`);
  return value;
}
