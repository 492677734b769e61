import { describe, expect, it } from '@jest/globals';
import { isDecided, newKey, UnderWay, Wishes } from './wishes.js';

const refusal = (status: number, code = 'x'): Error => Object.assign(new Error(code), { status, code });

describe('a wish', () => {
  const start = (): { wishes: Wishes; keys: string[]; send: (wish: unknown, error?: Error) => Promise<unknown> } => {
    let n = 0;
    const wishes = new Wishes(() => `key-${++n}`);
    const keys: string[] = [];
    const send = (wish: unknown, error?: Error): Promise<unknown> =>
      wishes
        .send(wish, async (key) => {
          keys.push(key);
          if (error !== undefined) throw error;
        })
        .catch((refused: unknown) => refused);
    return { wishes, keys, send };
  };

  it('keeps its key for as long as nobody knows what has become of it', async () => {
    const { keys, send } = start();
    const lost = refusal(0, 'unreachable');
    expect(await send({ title: 'one' }, lost)).toBe(lost);
    await send({ title: 'one' }, refusal(503));
    await send({ title: 'one' }, refusal(409, 'idempotency-in-flight'));
    await send({ title: 'one' });
    expect(keys).toEqual(['key-1', 'key-1', 'key-1', 'key-1']);
  });

  it('has another key once it was decided, or is another wish', async () => {
    const { keys, send } = start();
    await send({ title: 'one' });
    await send({ title: 'one' }, refusal(422));
    await send({ title: 'one' }, refusal(0));
    await send({ title: 'two' });
    await send({ title: 'one' });
    expect(keys).toEqual(['key-1', 'key-2', 'key-3', 'key-4', 'key-3']);
  });

  it('is wanted twice when it is said again before its answer', async () => {
    const { wishes } = start();
    const keys: string[] = [];
    const ends: (() => void)[] = [];
    const both = [1, 2].map(() => wishes.send('go on', (key) => new Promise<void>((end) => ends.push((keys.push(key), end)))));
    for (const end of ends) end();
    await Promise.all(both);
    expect(keys).toEqual(['key-1', 'key-2']);
  });

  it('has a key also where the browser makes no ids, as on a page that came over plain HTTP', async () => {
    const { randomUUID } = crypto;
    const keys: string[] = [];
    Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
    try {
      await new Wishes().send('go on', async (key) => void keys.push(key));
      keys.push(newKey());
    } finally {
      delete (crypto as { randomUUID?: unknown }).randomUUID;
    }
    expect(crypto.randomUUID).toBe(randomUUID);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(new Set(keys).size).toBe(2);
  });

  it('is decided by what the service answers, and by nothing else', () => {
    expect([400, 404, 409, 412, 422, 429].map((status) => isDecided(refusal(status)))).toEqual(Array(6).fill(true));
    expect([refusal(0), refusal(500), refusal(503), new Error('lost'), refusal(409, 'idempotency-in-flight')].map(isDecided)).toEqual(
      Array(5).fill(false),
    );
  });
});

describe('what is under way', () => {
  it('is not begun again before its end, whatever that is', async () => {
    const underWay = new UnderWay();
    let begun = 0;
    let end = (): void => undefined;
    const work = (): Promise<void> => {
      begun++;
      return new Promise((_, reject) => (end = () => reject(new Error('refused'))));
    };
    const first = underWay.begin('one', work);
    expect([underWay.begin('one', work), begun]).toEqual([undefined, 1]);
    expect(await underWay.begin('other', () => Promise.resolve('done'))).toBe('done');
    end();
    await expect(first).rejects.toThrow('refused');
    await expect(
      underWay.begin('one', () => {
        throw new Error('at once');
      }),
    ).rejects.toThrow('at once');
    expect(await underWay.begin('one', () => Promise.resolve('again'))).toBe('again');
  });
});
