import { describe, expect, it } from '@jest/globals';
import { Outbox } from './outbox.js';

const start = (): { outbox: Outbox; kept: Map<string, string> } => {
  const kept = new Map<string, string>();
  return { outbox: new Outbox({ read: (name) => kept.get(name) ?? '', keep: (name, text) => void kept.set(name, text) }), kept };
};

describe('what is written to a session', () => {
  it('is there again, before what was written since, when it is refused after it was sent', async () => {
    const { outbox, kept } = start();
    outbox.write('a', 'first');
    const refused = new Error('no');
    let end: (error: Error) => void = () => undefined;
    const sending = outbox.send(
      'a',
      { message: 'first', intent: 'default' },
      () => Promise.resolve('r1'),
      () => new Promise((_, reject) => (end = reject)),
    );
    expect(outbox.of('a')).toMatchObject({ text: '', waiting: [{ text: 'first' }] });
    await new Promise(setImmediate);
    expect(outbox.of('a').waiting).toEqual([]);
    outbox.write('a', 'second');
    end(refused);
    await sending;
    expect(outbox.of('a')).toEqual({ text: 'first\n\nsecond', waiting: [], error: refused });
    expect([kept.get('a'), outbox.of('b').text]).toEqual(['first\n\nsecond', '']);
  });

  it('is kept until the service has answered, and comes back in the order in which it was sent', async () => {
    const { outbox, kept } = start();
    const refuse = new Map<string, () => Promise<void>>();
    const send = (message: string): void =>
      void outbox.send(
        'a',
        { message, intent: 'default' },
        () =>
          new Promise<never>((_, reject) => refuse.set(message, () => (reject(new Error(`not ${message}`)), new Promise(setImmediate)))),
        () => Promise.resolve(),
      );
    for (const message of ['first', 'second', 'third']) send(message);
    outbox.write('a', 'rest');
    // A page that is loaded anew now begins with all of it.
    expect([outbox.of('a').text, kept.get('a')]).toEqual(['rest', 'first\n\nsecond\n\nthird\n\nrest']);
    await refuse.get('second')!();
    expect([outbox.of('a').text, kept.get('a')]).toEqual(['second\n\nrest', 'first\n\nsecond\n\nthird\n\nrest']);
    await refuse.get('third')!();
    await refuse.get('first')!();
    const all = 'first\n\nsecond\n\nthird\n\nrest';
    expect(outbox.of('a')).toEqual({ text: all, waiting: [], error: new Error('not first') });
    // What somebody has changed since is left as it is.
    outbox.write('a', 'second, changed');
    send('fourth');
    outbox.write('a', 'rest');
    await refuse.get('fourth')!();
    expect([outbox.of('a').text, kept.get('a')]).toEqual(['fourth\n\nrest', 'fourth\n\nrest']);
  });

  it('is sent again with its key where nobody knows what has become of it, and tells who listens', async () => {
    const { outbox } = start();
    let told = 0;
    outbox.subscribe(() => told++);
    const keys: string[] = [];
    const send = (fails: boolean): Promise<void> =>
      outbox.send(
        'a',
        { message: 'first', intent: 'default' },
        (key) => {
          keys.push(key);
          return fails ? Promise.reject(new Error('away')) : Promise.resolve();
        },
        () => Promise.resolve(),
      );
    await send(true);
    expect(outbox.of('a')).toMatchObject({ text: 'first', error: new Error('away') });
    await send(false);
    expect(outbox.of('a')).toEqual({ text: '', waiting: [], error: undefined });
    expect([new Set(keys).size, keys.length, told > 0]).toEqual([1, 2, true]);
  });

  // Guard: an answer to mail is sent once, whatever view it is sent from.
  it('stays until it is taken where it is delivered, and is delivered once by all who ask for it', async () => {
    const { outbox, kept } = start();
    const keys: string[] = [];
    const ends: ((error?: Error) => void)[] = [];
    const deliver = (): Promise<unknown> =>
      outbox.deliver('a', 'm1', (key, text) => {
        keys.push(`${text} ${key}`);
        return new Promise<void>((resolve, reject) => ends.push((error) => (error === undefined ? resolve() : reject(error))));
      });
    outbox.write('a', 'yes');
    const first = deliver();
    const second = deliver();
    expect([keys.length, kept.get('a')]).toEqual([1, 'yes']);
    ends[0]!(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await expect(second).rejects.toThrow('away');
    const third = deliver();
    ends[1]!();
    await third;
    expect([new Set(keys).size, keys.length, outbox.of('a').text]).toEqual([1, 2, '']);
    outbox.write('a', 'and');
    const last = deliver();
    outbox.write('a', 'and more');
    ends[2]!();
    await last;
    expect(outbox.of('a').text).toBe('and more');
  });
});
