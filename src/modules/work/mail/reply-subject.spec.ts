import { describe, expect, it } from '@jest/globals';
import { replySubject } from './reply-subject.js';

describe('the subject of a reply', () => {
  it.each([
    ['mine', 'hello', undefined, 'mine'],
    [undefined, 'hello', undefined, 'Re: hello'],
    ['', 'hello', undefined, 'Re: hello'],
    [undefined, 'RE: hello', undefined, 'RE: hello'],
    [undefined, 'Rehearsal', undefined, 'Re: Rehearsal'],
    [undefined, ' ', '\n first line \nsecond', 'first line'],
    [undefined, ' ', 'y'.repeat(100), 'y'.repeat(80)],
    [undefined, ' ', `${'y'.repeat(79)}😀`, 'y'.repeat(79)],
    [undefined, ' ', ' ', '(reply)'],
    [undefined, ' ', undefined, '(reply)'],
    [undefined, 'z'.repeat(500), undefined, `Re: ${'z'.repeat(496)}`],
  ])('given %j to %j with the body %j', (given, original, body, subject) => {
    expect(replySubject(given, original, body)).toBe(subject);
  });
});
