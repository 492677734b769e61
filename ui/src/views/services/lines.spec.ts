import { describe, expect, it } from '@jest/globals';
import { Lines, type Line } from './lines.js';

const line = (seq: number, at = `at ${seq}`): Line => ({ seq, at, attempt: 1, text: `line ${seq}` }) as Line;
const from = (first: number, last: number): Line[] => Array.from({ length: last - first + 1 }, (_, n) => line(first + n));
const seqsOf = ({ shown }: Lines): number[] => shown.map(({ seq }) => seq);

describe('the lines of a service', () => {
  it('stay, and are not new again, where the stream tells them once more', () => {
    const lines = new Lines();
    lines.begin();
    expect(lines.take(from(1, 6))).toBe(6);
    lines.begin();
    expect([lines.take(from(4, 5)), seqsOf(lines)]).toEqual([0, [1, 2, 3, 4, 5, 6]]);
    expect([lines.take(from(6, 8)), seqsOf(lines)]).toEqual([2, [1, 2, 3, 4, 5, 6, 7, 8]]);
  });

  it('give way to those of a stream that has left some out, or that counts from one again', () => {
    const lines = new Lines();
    lines.take(from(1, 6));
    lines.begin();
    expect([lines.take(from(9, 10)), seqsOf(lines)]).toEqual([2, [9, 10]]);
    lines.begin();
    expect([lines.take([line(1, 'later'), line(2, 'later')]), seqsOf(lines)]).toEqual([2, [1, 2]]);
    lines.take(from(3, 10));
    lines.begin();
    expect([lines.take([line(9, 'later')]), seqsOf(lines)]).toEqual([1, [9]]);
  });
});
