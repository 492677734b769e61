import { describe, expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import type { RuntimeEvent } from '../port.js';
import { CONTINUED, inner, TurnText } from './turn-text.js';

function recorded(prefix?: string): { text: TurnText; entries: Map<string, [status: string, text: string]>; writes: () => number } {
  const entries = new Map<string, [string, string]>();
  let writes = 0;
  const emit = (event: RuntimeEvent): void => {
    if (event.type !== 'entry') throw new Error(event.type);
    writes++;
    entries.set(event.id, [event.status, event.blocks[0]!.text as string]);
  };
  return { text: new TurnText(emit, 'turn-3', prefix), entries, writes: () => writes };
}

describe('the text of a turn', () => {
  it('is one entry that is replaced while it grows', () => {
    const { text, entries, writes } = recorded();
    expect(text.add({ settled: [], open: ['a'] })).toBe(true);
    expect(text.add({ settled: [], open: ['a'] })).toBe(false);
    expect(text.add({ settled: ['a'], open: ['b  ', '', ''] })).toBe(true);
    expect(writes()).toBe(2);
    expect(entries).toEqual(new Map([['turn-3.1', ['partial', 'a\nb']]]));
    text.end();
    expect(entries.get('turn-3.1')).toEqual(['final', 'a\nb']);
  });

  it('begins a new entry when enough has settled', () => {
    const { text, entries } = recorded();
    const lines = Array.from({ length: 250 }, (_, index) => `l${index}`);
    text.add({ settled: lines.slice(0, 120), open: ['open'] });
    text.add({ settled: lines.slice(120), open: [] });
    text.end();
    expect([...entries.values()].map(([status]) => status)).toEqual(['final', 'final', 'final']);
    expect([...entries.values()].map(([, written]) => written).join('\n')).toBe(lines.join('\n'));
  });

  it('leaves out frames and the line that waits for input', () => {
    const { text, entries } = recorded('❯ ');
    text.add({ settled: [], open: ['answer', '╭────╮', '│ ❯  │', '╰────╯', ' ? for help'] });
    text.end();
    expect(entries.get('turn-3.1')).toEqual(['final', 'answer']);
  });

  it('is not taken back by a repaint', () => {
    const { text, entries } = recorded();
    text.add({ settled: [], open: ['answer'] });
    expect(text.add({ settled: [], open: [''] })).toBe(false);
    text.end();
    expect(entries.get('turn-3.1')).toEqual(['final', 'answer']);
  });

  it('of long lines of nothing but spaces is tidied at once', () => {
    const { text, entries } = recorded();
    const long = `${' '.repeat(999_999)}${CONTINUED}`;
    // One line after the other goes on with the one before. Looked at anew from each of the spaces it would take minutes.
    runInNewContext('add()', { add: () => text.add({ settled: [], open: [long, 'end  ', ' '] }) }, { timeout: 20_000 });
    expect(entries.get('turn-3.1')![1] === `${' '.repeat(999_999)}end`).toBe(true);
  });

  it('has a line without its frame at once, however long a space within it is', () => {
    const line = `a${' '.repeat(1_000_000)}b`;
    const found: string[] = [];
    runInNewContext('find()', { find: () => found.push(inner(`│ ${line}\t┃`), inner(' ║ │'), inner('')) }, { timeout: 20_000 });
    expect(found[0] === line).toBe(true);
    expect(found.slice(1)).toEqual(['', '']);
  });

  it('is nothing when nothing was shown', () => {
    const { text, entries } = recorded();
    text.add({ settled: [], open: [] });
    text.end();
    expect(entries.size).toBe(0);
  });
});
