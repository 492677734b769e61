import { describe, expect, it } from '@jest/globals';
import { isEnteredAgain, isMeant, isTooSoon } from './held.js';

describe('a key that is held down', () => {
  it('does again only what says so', () => {
    const of = (repeat: boolean, binding: { repeats?: boolean }): boolean => isMeant({ key: 'x', repeat }, binding);
    expect([of(false, {}), of(true, {}), of(true, { repeats: false }), of(true, { repeats: true })]).toEqual([true, false, false, true]);
  });

  it('enters nothing again, and writes on', () => {
    const of = (key: string, repeat: boolean, enters: boolean): boolean => isEnteredAgain({ key, repeat }, enters);
    expect([of('Enter', false, true), of('Enter', true, true), of('Enter', true, false), of(' ', true, true)]).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });
});

describe('a second press', () => {
  it('counts once its reason could be read', () => {
    expect([isTooSoon(1_000, 1_150), isTooSoon(1_000, 1_499), isTooSoon(1_000, 1_500)]).toEqual([true, true, false]);
  });
});
