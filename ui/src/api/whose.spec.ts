import { beforeEach, describe, expect, it } from '@jest/globals';
import { forgetKept, isAnothers, leave, nextOf, whoOf, type Person, type TabStorage } from './whose.js';

describe('what a tab keeps', () => {
  let kept: Map<string, string>;
  let tab: TabStorage;

  beforeEach(() => {
    kept = new Map([
      ['svc.key', 'svc_a'],
      ['svc.draft.alpha', 'a file'],
      ['svc.draft.alpha/al-1', 'a message'],
      ['svc.operations', '[]'],
      ['of another page', 'kept'],
    ]);
    tab = {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, text) => void kept.set(name, text),
      removeItem: (name) => void kept.delete(name),
      key: (n) => [...kept.keys()][n] ?? null,
      get length() {
        return kept.size;
      },
    };
  });

  it('is of whoever signs in again, and of nobody else', () => {
    expect(['ann', 'ann', 'bob', 'bob', 'ann'].map((who) => isAnothers(who, () => tab))).toEqual([false, false, true, false, true]);
  });

  it('is of whoever came without a key, where one is needed since, and again where none is', () => {
    const another = (...names: readonly string[]): boolean[] => names.map((who) => isAnothers(who, () => tab));
    expect(another('null', 'null', 'ann', 'null', 'ann', 'null', 'bob')).toEqual([false, false, false, false, false, false, true]);
    leave(() => tab);
    expect(another('null', 'null', 'ann')).toEqual([true, false, false]);
    let person: Person | undefined;
    const turns = ['null', 'ann', 'null', 'ann', 'bob', 'null', 'ann'].map((who) => (person = nextOf(person, who)).nth);
    expect(turns).toEqual([0, 0, 0, 0, 1, 1, 2]);
  });

  it('is of whoever may read the file of the first key, also once there is another one in it', () => {
    const named = (name: string): string => whoOf({ caller: { kind: 'key', name } });
    expect(named('admin-0123456789ab')).toBe(named('admin-ba9876543210'));
    expect([named('admin-ann'), named('null')]).toEqual(['"admin-ann"', '"null"']);
    expect(whoOf({ caller: { kind: 'session', name: 'null' } })).toBe('session null');
    expect(whoOf({ caller: { kind: 'anybody', name: 'ann' } })).toBe('null');
  });

  it('is gone when somebody signs out, and whoever comes then is another one', () => {
    isAnothers('ann', () => tab);
    leave(() => tab);
    expect([...kept.keys()]).toEqual(['svc.key', 'of another page', 'svc.who']);
    expect(['ann', 'ann'].map((who) => isAnothers(who, () => tab))).toEqual([true, false]);
  });

  it('is gone for the next one, but for the key', () => {
    isAnothers('ann', () => tab);
    forgetKept(() => tab);
    expect([...kept.keys()]).toEqual(['svc.key', 'of another page', 'svc.who']);
  });

  it('is nothing where a browser keeps nothing', () => {
    const refuses = (): never => {
      throw new Error('refused');
    };
    forgetKept(refuses);
    leave(refuses);
    expect(isAnothers('ann', refuses)).toBe(false);
  });
});
