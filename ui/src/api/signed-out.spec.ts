import { describe, expect, it } from '@jest/globals';
import { isSignedOut, noteSignIn, noteSignOut } from './signed-out.js';

const storage = (): (() => Pick<Storage, 'getItem' | 'setItem'>) => {
  const kept = new Map<string, string>();
  const one = { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, text: string) => void kept.set(name, text) };
  return () => one;
};
const none = (): never => {
  throw new Error('this browser keeps nothing');
};

describe('a tab that was asleep', () => {
  // Guard: a tab that was asleep when somebody signed out does not go on with his key.
  it('finds that somebody has signed out since it got its key, until it gets another', () => {
    const [device, tab, later] = [storage(), storage(), storage()];
    noteSignIn(tab, device);
    expect(isSignedOut(tab, device)).toBe(false);
    noteSignOut(device);
    expect(isSignedOut(tab, device)).toBe(true);
    noteSignIn(later, device);
    expect([isSignedOut(tab, device), isSignedOut(later, device)]).toEqual([true, false]);
    noteSignOut(device);
    expect(isSignedOut(later, device)).toBe(true);
    noteSignIn(tab, device);
    expect(isSignedOut(tab, device)).toBe(false);
  });

  it('goes on where nobody has ever signed out, and where the browser keeps nothing', () => {
    expect(isSignedOut(storage(), storage())).toBe(false);
    noteSignOut(none);
    noteSignIn(none, none);
    expect(isSignedOut(none, none)).toBe(false);
  });
});
