import { nextTurn } from '../../../platform/turns/turn-end.js';

/** A part of a configuration: one of its tables as a whole, or one item of a list, or one member of a large table. */
export interface Piece {
  readonly member: string;
  /** The list or the table that it belongs to; absent: it is the table itself. */
  readonly of?: 'array' | 'object' | null;
  readonly name: string | null;
  readonly text: string;
}

/** Characters that are parsed before others have their turn on the event loop. Measured: 8 ms a million. */
const AT_ONCE = 128 * 1024;

/** What `JSON.parse` makes of the whole, without keeping the process from everything else meanwhile. */
export async function assembled(pieces: readonly Piece[]): Promise<Record<string, unknown>> {
  const whole: Record<string, unknown> = {};
  let spent = 0;
  for (const { member, of, name, text } of pieces) {
    const value = JSON.parse(text) as unknown;
    if (of === 'array') ((whole[member] ??= []) as unknown[]).push(value);
    // A name may be one that objects have by themselves.
    else if (of === 'object')
      Object.defineProperty((whole[member] ??= {}), name!, { value, enumerable: true, writable: true, configurable: true });
    else whole[member] = value;
    spent += text.length;
    if (spent < AT_ONCE) continue;
    spent = 0;
    await nextTurn();
  }
  return whole;
}
