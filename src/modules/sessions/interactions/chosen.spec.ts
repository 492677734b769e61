import { describe, expect, it } from '@jest/globals';
import { allowed, chosen } from './chosen.js';

const YES = { id: 'y', label: 'Yes', kind: 'allow_once' };
const ALWAYS = { id: 'ya', label: 'Yes, always', kind: 'allow_always' };
const NO = { id: 'n', label: 'No', kind: 'reject_once' };
const NEVER = { id: 'nn', label: 'Never', kind: 'reject_always' };

describe('what an answer chooses', () => {
  it.each([
    ['y', 'y'],
    ['Yes, always', 'ya'],
    ['approve', 'y'],
    ['approve_always', 'ya'],
    ['approve_accept_edits', 'ya'],
    ['deny', 'n'],
  ])('%s: %s', (action, id) => {
    expect(chosen([YES, ALWAYS, NO], action)).toBe(id);
  });

  it('an id counts before a label, a label before a word', () => {
    expect(
      chosen(
        [
          { id: 'a', label: 'b' },
          { id: 'b', label: 'a' },
        ],
        'a',
      ),
    ).toBe('a');
    expect(
      chosen(
        [
          { id: '1', label: 'deny' },
          { ...NO, id: '2' },
        ],
        'deny',
      ),
    ).toBe('1');
  });

  it('a word says no more than it says', () => {
    expect(() => chosen([ALWAYS, NO], 'approve')).toThrow(
      'invalid: unknown action "approve"; allowed: ya, n, approve_always, approve_accept_edits, deny',
    );
    expect(chosen([YES, NEVER], 'deny')).toBe('nn');
    expect(() => chosen([YES, { ...YES, id: 'y2', label: 'Yes, too' }], 'approve')).toThrow(/allowed: y, y2$/);
    expect(() =>
      chosen(
        [
          { id: 'a', label: 'Same' },
          { id: 'b', label: 'Same' },
        ],
        'Same',
      ),
    ).toThrow(/allowed: a, b$/);
    expect(() => chosen([YES], 'toString')).toThrow(/^invalid: /);
  });

  it('where nothing is offered the word is the answer', () => {
    expect(chosen([], 'go on')).toBe('go on');
    expect(allowed([YES])).toEqual(['y', 'approve']);
  });
});
