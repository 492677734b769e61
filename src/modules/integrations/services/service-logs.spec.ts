import { describe, expect, it } from '@jest/globals';
import { LineSink } from './service-logs.js';

const texts = (sink: LineSink): string[] => sink.take().map(({ text }) => text);

describe('what services write', () => {
  it('is lines, whatever pieces it comes in, without secrets and what cannot be stored', () => {
    const sink = new LineSink(() => 0);
    for (const byte of Buffer.from('grüße\r\nnext\0\n\ntoken=0123456789abcdef\nrest')) sink.write(Buffer.of(byte));
    expect(texts(sink)).toEqual(['grüße', 'next\uFFFD', '', 'token=********']);
    sink.end();
    expect(texts(sink)).toEqual(['rest']);
  });

  it('is cut where a line never ends', () => {
    const sink = new LineSink(() => 0);
    sink.write(Buffer.alloc(10_000, 'x'));
    sink.end();
    expect(texts(sink).map(({ length }) => length)).toEqual([4_096, 4_096, 1_808]);
  });

  // Guard: a service that writes very much takes no more memory than it may.
  it('is left out beyond what may be written at once, and said to be', () => {
    let now = 0;
    const sink = new LineSink(() => now);
    for (let n = 0; n < 100; n++) sink.write(Buffer.from(`${'y'.repeat(63)}\n`.repeat(1_000)));
    const first = texts(sink);
    expect(first.length).toBeLessThan(4_200);
    expect(first.at(-1)).toMatch(/^… 9\d{4} lines are left out/);
    now = 10_000;
    sink.write(Buffer.from('well again\n'));
    expect(texts(sink)).toEqual(['well again']);
  });
});
