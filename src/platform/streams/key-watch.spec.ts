import { describe, expect, it } from '@jest/globals';
import type { Lifecycle } from '../health/lifecycle.js';
import { KeyWatch } from './key-watch.js';
import type { Signals } from './signals.js';

describe('KeyWatch', () => {
  it('looks at keys once at a time, however often it is told to while the database is slow, and then once more', async () => {
    const asked: { readonly key: string; answer(valid: boolean): void }[] = [];
    let tell: (topics: 'all') => void = () => undefined;
    let stop = (): void => undefined;
    const signals = { onTopics: (told: typeof tell) => ((tell = told), () => undefined) } as unknown as Signals;
    const lifecycle = { onStop: (_phase: string, _name: string, work: () => void) => (stop = work) } as unknown as Lifecycle;
    const stillValid = (key: string): Promise<boolean> => new Promise((answer) => asked.push({ key, answer }));
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const watch = new KeyWatch({ stillValid }, signals, lifecycle);
    stop(); // it is told, and looks by itself no more
    const ended: string[] = [];
    for (const key of ['good', 'bad']) watch.add(key, () => ended.push(key));

    for (let n = 0; n < 50; n++) tell('all');
    // Together: what reads them gathers them into one statement.
    expect(asked.map(({ key }) => key)).toEqual(['good', 'bad']);
    asked[0]!.answer(true);
    asked[1]!.answer(false);
    await turn();
    expect([asked.map(({ key }) => key), ended]).toEqual([['good', 'bad', 'good', 'bad'], ['bad']]);
    for (const { answer } of asked.slice(2)) answer(true);
    await turn();
    expect(asked.length).toBe(4);
    tell('all');
    expect(asked.length).toBe(6);
  });
});
