import { describe, expect, it } from '@jest/globals';
import { chooseOption } from './answers.js';

const option = (id: string, kind?: string): { id: string; label: string; kind?: string } => ({
  id,
  label: id,
  ...(kind === undefined ? {} : { kind }),
});
const OPTIONS = [option('y', 'allow_once'), option('Y', 'allow_always'), option('n', 'reject_once'), option('approve_all')];

describe('the option that an answer means', () => {
  it.each([
    ['y', 'y'],
    ['approve_all', 'approve_all'],
    ['approve', 'y'],
    ['approve_always', 'Y'],
    ['approve_accept_edits', 'Y'],
    ['deny', 'n'],
    ['cancel', 'cancelled'],
    ['perhaps', undefined],
    ['constructor', undefined],
    ['', undefined],
  ])('%s means %s', (action, meant) => expect(chooseOption(OPTIONS, action)).toBe(meant));

  it('may be the wider one where there is no narrow one, but not the other way round', () => {
    expect(chooseOption([option('Y', 'allow_always')], 'approve')).toBe('Y');
    expect(chooseOption([option('y', 'allow_once')], 'approve_always')).toBeUndefined();
    expect(chooseOption([option('N', 'reject_always')], 'deny')).toBe('N');
  });

  it('is none when nothing can be refused', () => {
    expect(chooseOption([option('y', 'allow_once')], 'deny')).toBe('cancelled');
  });

  it('is an id before it is a word', () => {
    expect(chooseOption([option('y', 'allow_once'), option('approve', 'reject_once')], 'approve')).toBe('approve');
  });
});
