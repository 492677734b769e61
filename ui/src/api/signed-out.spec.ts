import { describe, expect, it } from '@jest/globals';
import { OUT, SignOuts } from './signed-out.js';

const storage = (): (() => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>) => {
  const kept = new Map<string, string>();
  const one = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  };
  return () => one;
};
const none = (): never => {
  throw new Error('this browser keeps nothing');
};

describe('a tab that was asleep', () => {
  // Guard: a tab that was asleep when somebody signed out does not go on with his key.
  it('finds that somebody has signed out since it got its key, until it gets another', () => {
    const device = storage();
    const [tab, later] = [new SignOuts(storage(), device), new SignOuts(storage(), device)];
    tab.signedIn();
    expect(tab.since()).toBe(false);
    later.note();
    expect(tab.since()).toBe(true);
    later.signedIn();
    expect([tab.since(), later.since()]).toEqual([true, false]);
    later.note();
    expect(later.since()).toBe(true);
    tab.signedIn();
    expect(tab.since()).toBe(false);
  });

  // Guard: a key of before a sign-out does not become one of after it where a tab comes to it later.
  it('is as old as the key that it was told', () => {
    const device = storage();
    const [tab, later] = [new SignOuts(storage(), device), new SignOuts(storage(), device)];
    tab.signedIn();
    const out = tab.last();
    tab.note();
    later.signedIn(out);
    expect([later.since(), later.last()]).toEqual([true, out]);
  });

  it('finds it when it is loaded anew', () => {
    const [kept, device] = [storage(), storage()];
    new SignOuts(kept, device).signedIn();
    new SignOuts(storage(), device).note();
    expect(new SignOuts(kept, device).since()).toBe(true);
  });

  it('goes on where nobody has ever signed out, and where the browser keeps nothing', () => {
    expect(new SignOuts(storage(), storage()).since()).toBe(false);
    const nowhere = new SignOuts(none, none);
    nowhere.note();
    nowhere.signedIn();
    expect([nowhere.since(), nowhere.last()]).toEqual([false, '']);
  });

  it('goes on where the browser has forgotten its sign-outs, and hears of the next one', () => {
    const device = storage();
    const tab = new SignOuts(storage(), device);
    tab.note();
    tab.signedIn();
    device().removeItem(OUT);
    expect(tab.since()).toBe(false);
    tab.note();
    expect(tab.since()).toBe(true);
  });

  it('goes on where its storage is full, and hears of the next one', () => {
    const device = storage();
    const full = { getItem: () => null, setItem: none };
    const tab = new SignOuts(() => full, device);
    tab.note();
    tab.signedIn();
    expect(tab.since()).toBe(false);
    tab.note();
    expect(tab.since()).toBe(true);
  });

  it('goes on where it is told of a key before the sign-out that came before that', () => {
    const tab = new SignOuts(storage(), storage());
    tab.signedIn(String(Date.now()));
    expect(tab.since()).toBe(false);
  });
});
