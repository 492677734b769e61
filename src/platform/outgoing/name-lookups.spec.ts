import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../config/config.js';
import { NameLookups } from './name-lookups.js';
import { OutgoingGuard } from './outgoing-guard.js';

const ANSWER = ['93.184.215.14'];

/** A resolver that answers when the test says so. */
class Slow {
  readonly asked: string[] = [];
  readonly #open = new Map<string, (fails: boolean) => void>();
  readonly lookup = (host: string): Promise<readonly string[]> => {
    this.asked.push(host);
    return new Promise((resolve, reject) => this.#open.set(host, (fails) => (fails ? reject(new Error('gone')) : resolve(ANSWER))));
  };

  async answer(host: string, fails = false): Promise<void> {
    this.#open.get(host)!(fails);
    await turn();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const late = async (work: Promise<unknown>): Promise<string> => work.then(String, (error: unknown) => String(error));

describe('lookups of names that others give', () => {
  it('are few for one city, and leave others theirs, where none is ever answered', async () => {
    const { lookup, asked } = new Slow();
    const guard = OutgoingGuard.with(loadConfig({}, '/'), (host) => (host === 'fine.example' ? Promise.resolve(ANSWER) : lookup(host)));
    for (let n = 0; n < 100; n++) void guard.resolve(`${n}.example`, 443, 'greedy').catch(() => undefined);
    await turn();
    expect(asked).toHaveLength(4);
    expect(await guard.resolve('fine.example', 443, 'other')).toEqual(ANSWER);
    // It answers who asks for one of these as well, and for a city that has its share.
    void guard.resolve('0.example', 443, 'other').catch(() => undefined);
    await turn();
    expect(asked).toHaveLength(4);
  });

  it('count until they are over, though nobody waits for them any more', async () => {
    const slow = new Slow();
    const lookups = new NameLookups(slow.lookup, 1);
    const all = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => late(lookups.find(name, 'demo'))));
    expect(new Set(all)).toEqual(new Set(['Error: the name service does not answer']));
    expect(await late(lookups.find('f', 'demo'))).toContain('does not answer');
    expect(slow.asked).toEqual(['a', 'b', 'c', 'd']);
    await slow.answer('b');
    // Guard: who has given up is not looked up for.
    expect(slow.asked).toHaveLength(4);
    void late(lookups.find('g', 'demo'));
    expect(slow.asked.at(-1)).toBe('g');
  });

  it('come to their turn when another one is over, and share it where they ask for the same', async () => {
    const slow = new Slow();
    const lookups = new NameLookups(slow.lookup, 60_000);
    for (const name of ['a', 'b', 'c', 'd']) void lookups.find(name, 'demo');
    const both = Promise.all([lookups.find('e', 'demo'), lookups.find('e', 'demo')]);
    const next = lookups.find('f', 'demo');
    await slow.answer('a');
    expect(slow.asked).toEqual(['a', 'b', 'c', 'd', 'e']);
    await slow.answer('e');
    expect(await both).toEqual([ANSWER, ANSWER]);
    await slow.answer('f');
    expect(await next).toEqual(ANSWER);
    for (const name of ['b', 'c', 'd']) await slow.answer(name);
  });

  it('are made of names that were answered before, whatever else of the city is not', async () => {
    const slow = new Slow();
    const lookups = new NameLookups(slow.lookup, 60_000);
    const before = lookups.find('model', 'demo');
    await slow.answer('model');
    expect(await before).toEqual(ANSWER);
    for (const name of ['a', 'b', 'c', 'd', 'e']) void late(lookups.find(name, 'demo'));
    expect(slow.asked).toEqual(['model', 'a', 'b', 'c', 'd']);
    const again = lookups.find('model', 'demo');
    expect(slow.asked.at(-1)).toBe('model');
    await slow.answer('model');
    expect(await again).toEqual(ANSWER);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await slow.answer(name);
  });

  it('are refused for a while where one was late and has failed, and not where it came late', async () => {
    const slow = new Slow();
    let now = 0;
    const lookups = new NameLookups(slow.lookup, 1, () => now);
    const asks = async (name: string): Promise<number> => {
      const before = slow.asked.length;
      expect(await late(lookups.find(name, 'demo'))).toContain('does not answer');
      return slow.asked.length - before;
    };
    expect([await asks('dead'), await asks('tardy')]).toEqual([1, 1]);
    await slow.answer('dead', true);
    await slow.answer('tardy');
    expect([await asks('dead'), await asks('tardy')]).toEqual([0, 1]);
    now = 30_000;
    expect(await asks('dead')).toBe(1);
    await slow.answer('dead');
    await slow.answer('tardy');
  });

  it('of a city that has asked for nothing slow come before those of others that wait', async () => {
    const slow = new Slow();
    const lookups = new NameLookups(slow.lookup, 1);
    const greedy = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(greedy.flatMap((city) => [0, 1, 2, 3].map((n) => late(lookups.find(`${city}${n}`, city)))));
    expect(slow.asked).toHaveLength(8);
    for (const city of greedy.slice(0, 4)) void late(lookups.find(`${city}9`, city));
    const fair = late(lookups.find('fair', 'fair'));
    // The only one of its city, which has no place now, as the other has none.
    await slow.answer('d0');
    expect(slow.asked.slice(8)).toEqual(['fair']);
    await slow.answer('fair');
    expect(await fair).toBe(String(ANSWER));
  });
});
