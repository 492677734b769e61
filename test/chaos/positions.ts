import { SUPERVISOR, type Final } from './history.js';

/** Where a subscriber is: of each stream, the seq up to which nothing is missing. */
export type Vector = ReadonlyMap<string, number>;

const NUMBER = /^(0|[1-9][0-9]*)$/;

/**
 * What ids and cursors mean, read from the outside: written apart from the product's own parser, on purpose.
 */
export class Positions {
  readonly #names: ReadonlyMap<number, string>;
  readonly #cursors;

  constructor(final: Final) {
    this.#names = new Map(final.streams.map((s) => [s.id, s.name]));
    this.#cursors = [...final.cursors].sort((a, b) => a.id - b.id);
  }

  /** The position that `text` names, or undefined when it is none. `city` is set at city scope. */
  parse(text: string, city: string | undefined): Vector | undefined {
    if (city !== undefined) return NUMBER.test(text) ? new Map([[city, Number(text)]]) : undefined;
    return text.startsWith('~') ? this.#opaque(text) : composite(text);
  }

  #opaque(text: string): Vector | undefined {
    const [head, tail] = text.slice(1).split('.');
    const id = Number.parseInt(head ?? '', 36);
    const own = this.#cursors.find((c) => c.id === id);
    const numbers = varints(Buffer.from(tail ?? '', 'base64url'));
    if (own === undefined || numbers === undefined || numbers.length % 2 === 1) return undefined;
    const root = own.root ?? own.id;
    const byId = new Map<number, number>();
    for (const c of this.#cursors) {
      if (c.id > id || (c.id !== root && c.root !== root)) continue;
      c.streamIds.forEach((stream, i) => byId.set(stream, c.seqs[i]!));
    }
    for (let i = 0; i < numbers.length; i += 2) {
      const [stream, zigzag] = [numbers[i]!, numbers[i + 1]!];
      byId.set(stream, (byId.get(stream) ?? 0) + (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2));
    }
    const vector = new Map<string, number>();
    for (const [stream, seq] of byId) vector.set(this.#names.get(stream) ?? `#${stream}`, seq);
    return vector;
  }
}

function composite(text: string): Vector | undefined {
  const vector = new Map<string, number>();
  for (const part of text.split(',')) {
    const at = part.lastIndexOf(':');
    const name = part.slice(0, at);
    if (at <= 0 || !NUMBER.test(part.slice(at + 1)) || vector.has(name)) return undefined;
    vector.set(name, Number(part.slice(at + 1)));
  }
  const names = [...vector.keys()];
  const sorted = [...names].sort();
  return vector.has(SUPERVISOR) && names.join() === sorted.join() ? vector : undefined;
}

function varints(bytes: Buffer): number[] | undefined {
  const numbers: number[] = [];
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 127) * scale;
    if (byte >= 128) scale *= 128;
    else {
      numbers.push(value);
      value = 0;
      scale = 1;
    }
  }
  return scale === 1 ? numbers : undefined;
}
